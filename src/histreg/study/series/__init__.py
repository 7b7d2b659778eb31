"""Forecasts of series: windows, networks, runs."""
