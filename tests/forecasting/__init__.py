"""Forecasting: windows, forecasts, the model, the forecaster and its backtests."""
