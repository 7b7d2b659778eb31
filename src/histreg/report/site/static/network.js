// A small network and two losses: what torch and histreg.HistogramLoss compute, for a page
// without a server. A test holds losses and gradients to Python's.
"use strict";

const histregNetwork = (() => {
  // Numbers in [0, 1) that a seed determines (mulberry32 by T. Ettinger, public domain).
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  // Layers with weights (outputs, inputs) row by row: uniform, of variance 1 / inputs; the
  // last layer begins at zero, so that all losses begin at the same prediction of nothing.
  function create(sizes, seed) {
    const random = generator(seed);
    return sizes.slice(1).map((nOutputs, i) => {
      const nInputs = sizes[i], isLast = i === sizes.length - 2;
      const width = isLast ? 0 : Math.sqrt(3 / nInputs);
      const weights = Float64Array.from({ length: nOutputs * nInputs },
        () => width * (2 * random() - 1));
      const biases = Float64Array.from({ length: nOutputs },
        () => (isLast ? 0 : width * (2 * random() - 1)));
      return { nInputs, nOutputs, weights, biases };
    });
  }

  // The outputs of all layers for one x, with ReLU after all but the last.
  function forward(layers, x) {
    const outputs = [Float64Array.of(x)];
    layers.forEach(({ nInputs, nOutputs, weights, biases }, i) => {
      const before = outputs[i], after = new Float64Array(nOutputs);
      for (let o = 0; o < nOutputs; o++) {
        let sum = biases[o];
        for (let j = 0; j < nInputs; j++) sum += weights[o * nInputs + j] * before[j];
        after[o] = i < layers.length - 1 ? Math.max(0, sum) : sum;
      }
      outputs.push(after);
    });
    return outputs;
  }

  const squaredError = {
    nOutputs: 1,
    of(outputs, y) { return [(outputs[0] - y) ** 2, Float64Array.of(2 * (outputs[0] - y))]; },
    predict(outputs) { return outputs[0]; },
  };

  function softmax(logits) {
    const highest = Math.max(...logits), probs = new Float64Array(logits.length);
    let total = 0;
    for (let i = 0; i < probs.length; i++) total += probs[i] = Math.exp(logits[i] - highest);
    for (let i = 0; i < probs.length; i++) probs[i] /= total;
    return { probs, logTotal: highest + Math.log(total) };
  }

  // Cross-entropy with the target of HL-Gauss; its gradient is prediction minus target.
  function histogramLoss(bins, sigma) {
    const known = new Map();  // targets by y
    const centers = bins.borders.slice(1).map((upper, i) => (upper + bins.borders[i]) / 2);
    return {
      nOutputs: bins.nBins,
      of(outputs, y) {
        if (!known.has(y)) known.set(y, histregLoss.gaussianTarget(y, bins, sigma));
        const target = known.get(y), { probs, logTotal } = softmax(outputs);
        const loss = target.reduce((sum, p, i) => sum + p * (logTotal - outputs[i]), 0);
        return [loss, probs.map((h, i) => h - target[i])];
      },
      predict(outputs) {
        return softmax(outputs).probs.reduce((sum, h, i) => sum + h * centers[i], 0);
      },
    };
  }

  // The mean loss over samples, and its gradient by layer.
  function lossAndGradient(layers, loss, xs, ys) {
    const gradient = layers.map(({ weights, biases }) => ({
      weights: new Float64Array(weights.length), biases: new Float64Array(biases.length),
    }));
    let total = 0;
    xs.forEach((x, n) => {
      const outputs = forward(layers, x);
      let [value, above] = loss.of(outputs[layers.length], ys[n]);
      total += value;
      for (let i = layers.length - 1; i >= 0; i--) {
        const { nInputs, nOutputs, weights } = layers[i];
        const below = new Float64Array(nInputs), inputs = outputs[i];
        for (let o = 0; o < nOutputs; o++) {
          const slope = above[o] / xs.length;
          if (slope === 0) continue;
          gradient[i].biases[o] += slope;
          for (let j = 0; j < nInputs; j++) {
            gradient[i].weights[o * nInputs + j] += slope * inputs[j];
            below[j] += above[o] * weights[o * nInputs + j];
          }
        }
        above = below.map((each, j) => (inputs[j] > 0 ? each : 0));  // ReLU's
      }
    });
    return { loss: total / xs.length, gradient };
  }

  // Adam with its usual constants.
  function adam(layers, rate) {
    const parameters = layers.flatMap(({ weights, biases }) => [weights, biases]);
    const first = parameters.map((each) => new Float64Array(each.length));
    const second = parameters.map((each) => new Float64Array(each.length));
    let n = 0;
    return (gradient) => {
      n += 1;
      const slopes = gradient.flatMap(({ weights, biases }) => [weights, biases]);
      const ofMean = 1 / (1 - 0.9 ** n), ofSquare = 1 / (1 - 0.999 ** n);
      parameters.forEach((values, p) => {
        for (let i = 0; i < values.length; i++) {
          const slope = slopes[p][i];
          first[p][i] += 0.1 * (slope - first[p][i]);
          second[p][i] += 0.001 * (slope * slope - second[p][i]);
          values[i] -= rate * first[p][i] * ofMean
            / (Math.sqrt(second[p][i] * ofSquare) + 1e-8);
        }
      });
    };
  }

  return { generator, create, forward, squaredError, histogramLoss, lossAndGradient, adam };
})();
