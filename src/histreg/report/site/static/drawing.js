// What the drawings of the pages share: elements of SVG, numbers and ticks in words.
"use strict";

const histregDrawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // At most `digits` digits, without those that are zero.
  function shown(value, digits = 4) {
    if (value === 0) return "0";
    const text = Number(value.toPrecision(digits));
    const isPlain = Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6;
    return (isPlain ? String(text) : value.toExponential(Math.max(0, digits - 2)))
      .replaceAll("-", "\u2212");
  }

  function ticks(low, high) {
    const rough = (high - low) / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= rough);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
    return found;
  }

  return { element, shown, ticks };
})();
