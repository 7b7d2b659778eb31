// The target of HL-Gauss and its bias: histreg.targets and histreg.theory once more, for
// a page without a server. A test holds every number to Python's.
"use strict";

const histregLoss = (() => {
  // W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics
  // of Computation 23 (1969): relative errors below 1e-16 before rounding.
  const A = [3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
    3.20937758913846947e3, 1.85777706184603153e-1];
  const B = [2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
    2.84423683343917062e3];
  const C = [5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
    2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3,
    2.05107837782607147e3, 1.23033935479799725e3, 2.15311535474403846e-8];
  const D = [1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
    1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3,
    3.43936767414372164e3, 1.23033935480374942e3];
  const P = [3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4, 1.63153871373020978e-2];
  const Q = [2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
    6.05183413124413191e-2, 2.33520497626869185e-3];
  const FIRST = 0.46875, SECOND = 4;

  // A quotient of polynomials; the last of `top` stands for the highest power.
  function quotient(top, bottom, x) {
    const last = top.length - 1;
    let above = top[last] * x, below = x;
    for (let i = 0; i < last - 1; i++) {
      above = (above + top[i]) * x;
      below = (below + bottom[i]) * x;
    }
    return (above + top[last - 1]) / (below + bottom[last - 1]);
  }

  // exp(-x^2), whose square is split so that its rounding is not multiplied.
  function gaussian(x) {
    const coarse = Math.trunc(x * 16) / 16;
    return Math.exp(-coarse * coarse) * Math.exp(-(x - coarse) * (x + coarse));
  }

  function upperTail(x) {  // erfc for x above FIRST
    if (x > 26.6) return 0;
    if (x <= SECOND) return gaussian(x) * quotient(C, D, x);
    const z = 1 / (x * x);
    return gaussian(x) * (1 / Math.sqrt(Math.PI) - z * quotient(P, Q, z)) / x;
  }

  function erf(x) {
    const size = Math.abs(x);
    if (size <= FIRST) return x * quotient(A, B, x * x);
    return Math.sign(x) * (1 - upperTail(size));
  }

  function erfc(x) {
    if (Math.abs(x) <= FIRST) return 1 - erf(x);
    return x > 0 ? upperTail(x) : 2 - upperTail(-x);
  }

  // The mass of a standard normal between two points, with all its digits: from the
  // tail that is small, and around zero from erf, which is small there.
  function normalMass(lower, upper) {
    const a = lower / Math.SQRT2, b = upper / Math.SQRT2;
    if (Math.abs(a) < 0.5 && Math.abs(b) < 0.5) return (erf(b) - erf(a)) / 2;
    return (b <= 0 ? erfc(-b) - erfc(-a) : erfc(a) - erfc(b)) / 2;
  }

  // Bins.around: k bins over a range, padded on both sides.
  function binsAround(yMin, yMax, nBins, sigmaInBins, paddingInSigmas) {
    const padding = sigmaInBins * paddingInSigmas;
    if (nBins <= 2 * padding) return null;
    const width = (yMax - yMin) / (nBins - 2 * padding);
    const low = yMin - padding * width, high = yMax + padding * width;
    const borders = Array.from({ length: nBins + 1 },
      (_, i) => i === nBins ? high : low + (high - low) * i / nBins);
    return { low, high, width: (high - low) / nBins, nBins, borders };
  }

  // targets.gaussian: a normal around y, truncated to the bins.
  function gaussianTarget(y, bins, sigma) {
    const z = bins.borders.map((border) => (border - y) / sigma);
    const inside = normalMass(z[0], z[bins.nBins]);
    return z.slice(1).map((upper, i) => normalMass(z[i], upper) / inside);
  }

  // theory.discretization_bias: what coarse bins do to an untruncated normal, by the
  // series that needs fewer terms.
  function discretisationBias(offset, sigma, width) {
    const delta = offset / width, s = sigma / width;
    let total = 0;
    if (s > 0.3) {
      for (let n = 1; n <= Math.ceil(1.5 / s) + 1; n++) {
        total += (n % 2 ? -1 : 1) / (Math.PI * n) * Math.sin(2 * Math.PI * n * delta)
          * Math.exp(-2 * (Math.PI * n * s) ** 2);
      }
      return total * width;
    }
    for (let i = 1; i <= Math.ceil(9 * s) + 1; i++) {
      total += normalMass((i - 0.5 - Math.abs(delta)) / s, (i - 0.5 + Math.abs(delta)) / s);
    }
    return (Math.sign(delta) * total - delta) * width;
  }

  // theory.truncation_bias: what the ends do to a normal that is not cut into bins.
  function truncationBias(y, low, high, sigma) {
    const alpha = (low - y) / sigma, beta = (high - y) / sigma;
    const gap = (alpha - beta) * (alpha + beta) / 2;
    const nearer = Math.min(Math.abs(alpha), Math.abs(beta));
    const density = Math.exp(-(nearer ** 2) / 2) / Math.sqrt(2 * Math.PI);
    const slope = Math.sign(gap) * density * Math.expm1(-Math.abs(gap));
    return sigma * slope / normalMass(alpha, beta);
  }

  // Everything that the page tells of a choice; null if the padding leaves no bins.
  function target({ y, yMin, yMax, nBins, sigmaInBins, paddingInSigmas }) {
    const bins = binsAround(yMin, yMax, nBins, sigmaInBins, paddingInSigmas);
    if (bins === null) return null;
    const sigma = sigmaInBins * bins.width;
    const probs = gaussianTarget(y, bins, sigma);
    const centers = probs.map((_, i) => (bins.borders[i] + bins.borders[i + 1]) / 2);
    // Distances from y, not positions: their sum is the bias itself.
    const bias = probs.reduce((sum, p, i) => sum + p * (centers[i] - y), 0);
    const own = Math.min(bins.nBins - 1, Math.max(0, Math.floor((y - bins.low) / bins.width)));
    const offset = Math.min(bins.width / 2, Math.max(-bins.width / 2, y - centers[own]));
    const discretisation = discretisationBias(offset, sigma, bins.width);
    const truncation = truncationBias(y, bins.low, bins.high, sigma);
    const entropy = probs.reduce((sum, p) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
    return { bins, sigma, probs, mean: y + bias, bias, discretisation, truncation,
      rest: bias - discretisation - truncation, entropy };
  }

  return { erf, erfc, normalMass, binsAround, gaussianTarget, target };
})();
