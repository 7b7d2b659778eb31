"""
From a table to distributions
=============================

``HistogramRegressor`` is a scikit-learn estimator that predicts a distribution for each
row: here of the progression of diabetes in 442 patients.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from histreg import HistogramRegressor, displays

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = HistogramRegressor(random_state=0).fit(X_train, y_train)

error = abs(model.predict(X_test) - y_test).mean()
print(f"mean absolute error            {error:.1f}")
print(f"of the training mean           {abs(y_train.mean() - y_test).mean():.1f}")

# %%
# Rows by their median, with the quantiles of each and what came.

displays.FanDisplay.from_estimator(model, X_test, y_test)
plt.show()

# %%
# A low, a middle and a high prediction: density, mean and truth.

d = model.predict_dist(X_test)
rows = d.mean.argsort()[[11, 55, 99]]
figure, axes = plt.subplots(3, sharex=True, figsize=(7, 5), layout="constrained")
for ax, i in zip(axes, rows.tolist(), strict=True):
    ax.stairs(d.probs[i] / d.bins.widths, d.bins.borders, fill=True, alpha=0.5)
    ax.axvline(d.mean[i], color="black", ls="--")
    ax.axvline(y_test.iloc[i], color="#c75a00")
    above = d.prob(200.0, float("inf"))[i]
    ax.set(title=f"P(y > 200) = {above:.2f}", yticks=[])
axes[-1].set_xlabel("y")
plt.show()
