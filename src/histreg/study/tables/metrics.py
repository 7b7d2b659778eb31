"""The metrics that methods are compared by on tables."""

CRPS = "test CRPS by quantiles"
"""By the same 20 quantiles for all, which is all that some of them have."""
MAE, RMSE = "test MAE", "test RMSE"
MAE_OF_MEDIAN = "test MAE of the median"
COMPARED_METRICS = (CRPS, MAE, MAE_OF_MEDIAN, RMSE)
"""MAE and RMSE are those of the mean."""
