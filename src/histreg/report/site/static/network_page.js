// Two networks that learn sin(10 x) plus an offset in the browser, one for each loss.
"use strict";

(() => {
  const { element, shown } = histregDrawing;
  const byId = (id) => document.getElementById(id);
  const form = byId("learning");
  const N_POINTS = 128, BATCH = 32, HIDDEN = 32, N_BINS = 50, LAST = 3000, BUDGET_MS = 14;
  const GRID = Array.from({ length: 101 }, (_, i) => i / 50 - 1);
  let state = null, frame = null;

  const wave = (x, offset) => Math.sin(10 * x) + offset;

  function begin() {
    const offset = Number(byId("offset").value), seed = Number(byId("seed").value);
    const rate = 10 ** Number(byId("rate").value);
    const random = histregNetwork.generator(seed);
    const xs = Array.from({ length: N_POINTS }, () => 2 * random() - 1);
    const ys = xs.map((x) => wave(x, offset));
    const bins = histregLoss.binsAround(offset - 1, offset + 1, N_BINS, 2, 3);
    const losses = { l2: histregNetwork.squaredError,
      hl: histregNetwork.histogramLoss(bins, 2 * bins.width) };
    const learners = Object.entries(losses).map(([name, loss]) => {
      const layers = histregNetwork.create([1, HIDDEN, HIDDEN, loss.nOutputs], seed);
      return { name, loss, layers, step: histregNetwork.adam(layers, rate), errors: [] };
    });
    state = { offset, xs, ys, learners, random, n: 0 };
    measure();
  }

  function advance() {
    const { xs, ys, learners, random } = state;
    const rows = Array.from({ length: BATCH }, () => Math.floor(random() * xs.length));
    const batch = [rows.map((i) => xs[i]), rows.map((i) => ys[i])];
    for (const { layers, loss, step } of learners) {
      step(histregNetwork.lossAndGradient(layers, loss, ...batch).gradient);
    }
    state.n += 1;
    if (state.n % 10 === 0) measure();
  }

  // Predictions on the grid, and their mean squared error.
  function measure() {
    for (const each of state.learners) {
      each.predicted = GRID.map((x) =>
        each.loss.predict(histregNetwork.forward(each.layers, x).at(-1)));
      const squares = each.predicted.map((f, i) => (f - wave(GRID[i], state.offset)) ** 2);
      each.errors.push(squares.reduce((sum, square) => sum + square, 0) / GRID.length);
    }
  }

  function line(points) {
    return "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  }

  function draw() {
    const fit = byId("fit"), errors = byId("errors");
    const width = Math.min(830, fit.clientWidth || 830), height = 220, left = 12, right = 12;
    const inside = width - left - right;
    for (const svg of [fit, errors]) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    // Both fits around the wave; what lies far outside stays at the edge.
    const low = state.offset - 2, y = (value) =>
      height - 10 - Math.min(1, Math.max(0, (value - low) / 4)) * (height - 34);
    const x = (value) => left + (value + 1) / 2 * inside;
    fit.replaceChildren(
      ...state.xs.map((at, i) => element("circle",
        { class: "point", cx: x(at), cy: y(state.ys[i]), r: 1.8 })),
      ...state.learners.map(({ name, predicted }) => element("path",
        { class: `fit ${name}`, d: line(GRID.map((at, i) => [x(at), y(predicted[i])])) })),
      element("text", { x: left, y: 14, class: "l2" }, "squared error"),
      element("text", { x: left + 110, y: 14, class: "hl" }, "HL-Gauss"),
    );
    const decades = [-4, -3, -2, -1, 0, 1, 2], top = 2, bottom = -4;
    const at = (error) => {
      const power = Math.min(top, Math.max(bottom, Math.log10(error)));
      return 12 + (top - power) / (top - bottom) * (height - 40);
    };
    const when = (i) => left + 44 + i * 10 / LAST * (inside - 44);
    errors.replaceChildren(
      ...decades.flatMap((power) => [
        element("path", { class: "axis faint", d: `M${left + 44} ${at(10 ** power)}H${width - right}` }),
        element("text", { x: left, y: at(10 ** power) + 4, class: "after" }, shown(10 ** power, 2)),
      ]),
      element("text", { x: width - right, y: height - 6, class: "before" }, `${LAST} iterations`),
      ...state.learners.map((each) => element("path",
        { class: `fit ${each.name}`, d: line(each.errors.map((error, i) => [when(i), at(error)])) })),
    );
    const [l2, hl] = state.learners.map((each) => shown(each.errors.at(-1), 2));
    byId("learning-told").textContent = `After ${state.n} iterations the mean squared error `
      + `is ${l2} with the squared error and ${hl} with HL-Gauss.`;
  }

  function tick() {
    const until = performance.now() + BUDGET_MS;
    while (state.n < LAST && performance.now() < until) advance();
    draw();
    frame = state.n < LAST ? requestAnimationFrame(tick) : null;
    if (frame === null) byId("train").textContent = "Train again";
  }

  function stop() {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    byId("train").textContent = "Train";
  }

  function restart() {
    stop();
    byId("offset-told").textContent = byId("offset").value;
    byId("rate-told").textContent = shown(10 ** Number(byId("rate").value), 2);
    byId("seed-told").textContent = byId("seed").value;
    begin();
    draw();
  }

  byId("train").addEventListener("click", () => {
    if (frame !== null) return stop();
    if (state.n >= LAST) restart();
    byId("train").textContent = "Pause";
    frame = requestAnimationFrame(tick);
  });
  form.addEventListener("input", restart);
  window.addEventListener("resize", draw);
  restart();
})();
