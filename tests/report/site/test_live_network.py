"""The network of the front page: its losses, gradients and steps are those of torch."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from histreg import Bins, Histogram, HistogramLoss

SIZES = (1, 5, 4)
BINS = Bins.around(9.0, 11.0, n_bins=20)
SIGMA = 2 * BINS.width
TAUGHT = """
const [sizes, seed, bins, sigma, xs, ys, name, nSteps] = arguments;
const loss = name === "l2" ? histregNetwork.squaredError
  : histregNetwork.histogramLoss(bins, sigma);
const layers = histregNetwork.create([...sizes, loss.nOutputs], seed);
const last = layers.at(-1);  // not zero, so that the gradient reaches the first layers
last.weights.forEach((_, i) => { last.weights[i] = Math.sin(1 + i); });
const plain = (all) => all.map(({ weights, biases }) =>
  ({ weights: [...weights], biases: [...biases] }));
const first = plain(layers);
const { loss: value, gradient } = histregNetwork.lossAndGradient(layers, loss, xs, ys);
const step = histregNetwork.adam(layers, 0.01);
for (let n = 0; n < nSteps; n++) {
  step(histregNetwork.lossAndGradient(layers, loss, xs, ys).gradient);
}
const predicted = xs.map((x) => loss.predict(histregNetwork.forward(layers, x).at(-1)));
return { first, value, gradient: plain(gradient), predicted };
"""


def outputs_of(parameters, x):
    *hidden, last = parameters
    x = x.unsqueeze(-1)
    for weights, biases in hidden:
        x = functional.linear(x, weights, biases).relu()
    return functional.linear(x, *last)


@pytest.mark.parametrize("name", ["l2", "HL-Gauss"])
def test_losses_gradients_and_steps_of_adam_are_those_of_torch(site, browser, name):
    browser.get((site / "index.html").as_uri())
    x = torch.linspace(-1, 1, 9, dtype=torch.float64)
    y = torch.sin(10 * x) + 10
    borders = BINS.borders.double().tolist()
    bins = {"nBins": BINS.n_bins, "borders": borders}
    given = (SIZES, 3, bins, float(SIGMA), x.tolist(), y.tolist(), name, 5)
    found = browser.execute_script(TAUGHT, *given)

    n_outputs = 1 if name == "l2" else BINS.n_bins
    widths = (*SIZES, n_outputs)
    parameters = [
        (
            torch.tensor(layer["weights"], dtype=torch.float64).reshape(n, -1),
            torch.tensor(layer["biases"], dtype=torch.float64),
        )
        for layer, n in zip(found["first"], widths[1:], strict=True)
    ]
    flat = [each.requires_grad_() for layer in parameters for each in layer]
    loss = HistogramLoss(BINS, sigma=SIGMA)

    def value():
        outputs = outputs_of(parameters, x)
        return (outputs[:, 0] - y).square().mean() if name == "l2" else loss(outputs, y)

    gradients = torch.autograd.grad(value(), flat)
    np.testing.assert_allclose(found["value"], value().item(), rtol=1e-9)
    parts = ("weights", "biases")
    shown = [layer[part] for layer in found["gradient"] for part in parts]
    for ours, theirs in zip(shown, gradients, strict=True):
        np.testing.assert_allclose(ours, theirs.flatten(), rtol=1e-7, atol=1e-12)

    optimizer = torch.optim.Adam(flat, lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        value().backward()
        optimizer.step()
    with torch.no_grad():
        outputs = outputs_of(parameters, x)
    mean = outputs[:, 0] if name == "l2" else Histogram(BINS, logits=outputs).mean
    np.testing.assert_allclose(found["predicted"], mean, rtol=1e-6)


def test_a_seed_gives_the_same_numbers_that_fill_the_interval(site, browser):
    browser.get((site / "index.html").as_uri())
    drawn = browser.execute_script(
        "return [1, 1, 2].map((seed) => {"
        " const random = histregNetwork.generator(seed);"
        " return Array.from({ length: 2000 }, random) })"
    )
    assert drawn[0] == drawn[1] != drawn[2]
    assert min(drawn[0]) >= 0 and max(drawn[0]) < 1
    # 2,000 uniform numbers: standard error 0.0065, so 5 of them
    assert abs(np.mean(drawn[0]) - 0.5) < 0.033


def test_the_networks_learn_when_asked_and_can_be_paused(site, browser):
    browser.get((site / "index.html").as_uri())
    words = browser.find_element("id", "learning-told")
    assert words.text.startswith("After 0 iterations")
    button = browser.find_element("id", "train")
    button.click()
    assert button.text == "Pause"
    # In one go, since each drawing replaces the last one.
    line = "return document.querySelector('#fit path.hl').getAttribute('d')"
    before = browser.execute_script(line)
    browser.execute_async_script("setTimeout(arguments[0], 1500)")
    button.click()
    assert button.text == "Train"
    assert not words.text.startswith("After 0 iterations")
    assert browser.execute_script(line) != before
    browser.execute_script(
        "const slider = document.getElementById('offset'); slider.value = 3;"
        " slider.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert words.text.startswith("After 0 iterations")
    assert browser.find_element("id", "offset-told").text == "3"
