"""Targets of any shape: predictors, scores, runs."""
