"""What the theory says, measured without training."""
