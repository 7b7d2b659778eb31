// The sliders of the front page and of the page on the loss, and their drawings.
"use strict";

(() => {
  const { element, shown, ticks } = histregDrawing;
  const WIDEST = 830, HEIGHT = 250, LEFT = 12, RIGHT = 12, TOP = 36, BOTTOM = 30;

  const byId = (id) => document.getElementById(id);

  // Bars of probability over the bins, an axis, and upright lines with their names.
  function draw(svg, borders, probs, highest, lines, range) {
    const WIDTH = Math.min(WIDEST, svg.clientWidth || WIDEST);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    const low = borders[0], high = borders[borders.length - 1];
    const x = (value) => LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    const base = HEIGHT - BOTTOM;
    const height = (p) => base - Math.min(1, p / highest) * (base - TOP);
    let path = `M${x(low).toFixed(2)} ${base}`;
    probs.forEach((p, i) => {
      const top = height(p).toFixed(2);
      path += `V${top}H${x(borders[i + 1]).toFixed(2)}`;
    });
    path += `V${base}Z`;
    const parts = [];
    if (range) {
      parts.push(element("rect", { class: "range", x: x(range[0]), y: TOP,
        width: x(range[1]) - x(range[0]), height: base - TOP }));
    }
    parts.push(element("path", { class: "bars", d: path }));
    parts.push(element("path", { class: "axis", d: `M${LEFT} ${base}H${WIDTH - RIGHT}` }));
    for (const at of ticks(low, high)) {
      parts.push(element("path", { class: "axis", d: `M${x(at)} ${base}v5` }));
      parts.push(element("text", { x: x(at), y: base + 20, class: "tick" },
        String(Number(at.toPrecision(6))).replace("-", "\u2212")));
    }
    lines.forEach(({ name, at, kind }, i) => {
      const place = x(at);
      parts.push(element("path", { class: kind, d: `M${place} ${TOP}V${base}` }));
      const after = place < WIDTH - 60;  // names are on lines of their own
      parts.push(element("text", { x: place + (after ? 4 : -4), y: 13 + 16 * i,
        class: after ? "after" : "before" }, name));
      parts.push(element("path", { class: `${kind} lead`, d: `M${place} ${4 + 16 * i}V${TOP}` }));
    });
    svg.replaceChildren(...parts);
  }

  // The target of one y.
  const form = byId("choice");
  const [yMin, yMax] = [Number(form.dataset.low), Number(form.dataset.high)];

  function choice() {
    return { y: Number(byId("y").value), yMin, yMax, nBins: Number(byId("n-bins").value),
      sigmaInBins: 2 ** Number(byId("sigma").value),
      paddingInSigmas: Number(byId("padding").value) };
  }

  function tell(id, text) {
    const place = byId(id);
    if (place !== null) place.textContent = text;  // the front page tells less
  }

  function update() {
    const chosen = choice();
    tell("n-bins-told", String(chosen.nBins));
    tell("sigma-told", `${shown(chosen.sigmaInBins, 3)} bins`);
    tell("padding-told", `${shown(chosen.paddingInSigmas, 3)} sigmas`);
    tell("y-told", shown(chosen.y));
    byId("sigma").setAttribute("aria-valuetext", `${shown(chosen.sigmaInBins, 3)} bins`);
    const found = histregLoss.target(chosen);
    byId("no-bins").hidden = found !== null;
    byId("target").classList.toggle("absent", found === null);
    const names = ["width", "ends", "mean", "bias", "discretisation", "truncation", "rest",
      "entropy"];
    if (found === null) {
      names.forEach((name) => tell(`${name}-told`, "\u2013"));
      tell("target-words", "No bins are left for the range.");
      byId("target").replaceChildren();
      return;
    }
    const inBins = (bias) => {
      const share = bias / found.bins.width;
      if (Math.abs(share) < 1e-12) return "none, or less than rounding";
      return `${shown(bias, 3)} (${shown(share, 2)} bins)`;
    };
    tell("width-told", shown(found.bins.width));
    tell("ends-told", `${shown(found.bins.low)} to ${shown(found.bins.high)}`);
    tell("mean-told", shown(found.mean, 8));
    for (const name of ["bias", "discretisation", "truncation", "rest"]) {
      tell(`${name}-told`, inBins(found[name]));
    }
    tell("entropy-told", `${shown(found.entropy)} nats`);
    const highest = Math.max(...found.probs);
    tell("target-words", `A histogram of ${chosen.nBins} bins around y = ${shown(chosen.y)}; `
      + `its highest bin has a probability of ${shown(highest, 3)}, and its mean is `
      + `${shown(found.mean, 6)}.`);
    draw(byId("target"), found.bins.borders, found.probs, highest, [
      { name: "y", at: chosen.y, kind: "truth" },
      { name: "mean", at: found.mean, kind: "mean" },
    ], [yMin, yMax]);
  }

  form.addEventListener("input", update);
  form.addEventListener("reset", () => setTimeout(update));  // after the values are back
  update();
  let redraw = update;
  window.addEventListener("resize", () => redraw());

  // What a network predicted while it learnt.
  const data = byId("snapshots");
  if (data === null) return;
  const { borders, epochs, rows } = JSON.parse(data.textContent);
  const slider = byId("epoch"), play = byId("play");
  const centers = borders.slice(1).map((upper, i) => (upper + borders[i]) / 2);
  const highest = rows.map(({ probs }) => Math.max(...probs.flat()));
  let timer = null;

  function showEpoch() {
    const at = Number(slider.value);
    tell("epoch-told", String(epochs[at]));
    slider.setAttribute("aria-valuetext", `epoch ${epochs[at]}`);
    rows.forEach(({ y, probs }, i) => {
      const total = probs[at].reduce((sum, p) => sum + p, 0);  // 1 but for rounding
      const mean = probs[at].reduce((sum, p, j) => sum + p * centers[j], 0) / total;
      tell(`row-${i}-told`, `truth ${shown(y)}, predicted mean ${shown(mean)}, `
        + `highest bin ${shown(Math.max(...probs[at]), 2)}`);
      draw(byId(`row-${i}`), borders, probs[at], highest[i], [
        { name: "truth", at: y, kind: "truth" },
        { name: "mean", at: mean, kind: "mean" },
      ]);
    });
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function step() {
    slider.value = Number(slider.value) + 1;
    showEpoch();
    if (Number(slider.value) === epochs.length - 1) stop();
  }

  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (Number(slider.value) === epochs.length - 1) slider.value = 0;
    play.textContent = "Pause";
    showEpoch();
    timer = setInterval(step, 500);
  });
  slider.addEventListener("input", () => { stop(); showEpoch(); });
  showEpoch();
  redraw = () => { update(); showEpoch(); };
})();
