"""Networks on the paper's tables: the trainer, probes, runs."""
