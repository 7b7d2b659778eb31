"""The site: the whole study as pages, from stored records alone."""
