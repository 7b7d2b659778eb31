"""Criteria: the losses of stacks of networks, with gradients in closed form."""
