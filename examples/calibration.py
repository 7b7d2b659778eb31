"""
Are the probabilities right?
============================

Two displays answer it on rows that the model was not trained on: how often intervals
contain y, and where y falls in its predicted distribution. The grey bands hold 95 % of
the points if the predictions are right. Points below the diagonal mean intervals that
are too narrow, as those of this single network are; ``calibrate`` corrects them with
other rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from histreg import HistogramRegressor, displays

generator = np.random.default_rng(0)
X = generator.uniform(-1, 1, size=(1500, 3))
noise = generator.gamma(2.0, 1.0 + X[:, 1] ** 2)  # skewed, wider at the ends
y = 10 * np.sin(2 * X[:, 0]) + noise
model = HistogramRegressor(random_state=0, n_estimators=1, max_iter=60)
model.fit(X[:1000], y[:1000])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
displays.CoverageDisplay.from_estimator(model, X[1000:], y[1000:], ax=left)
displays.PITDisplay.from_estimator(model, X[1000:], y[1000:], ax=right)
plt.show()
