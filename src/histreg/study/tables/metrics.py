"""The metrics that methods are compared by on tables."""

CRPS = "test CRPS by quantiles"
"""By the same 20 quantiles for all, which is all that some of them have."""
MAE, RMSE = "test MAE", "test RMSE"
"""Of the mean. The mean of a method that predicts quantiles only is that of the 20."""
MAE_OF_MEDIAN = "test MAE of the median"
COMPARED_METRICS = (CRPS, MAE, MAE_OF_MEDIAN, RMSE)
FIT_S = "fit seconds"
"""Of the processor, of the plain model: residuals are apart."""
PREDICT_S = "predict seconds per 1,000 rows"
