// Saves charts with their titles as an SVG, or as a PNG, for which the browser draws that SVG.

import {make, ns} from "./page.js";

const margin = 12;
const scale = 2; // pixels of a PNG for each pixel of the page

// saveSVG and savePNG save the charts in an element under a name.
export async function saveSVG(within, name) {
  download(new Blob([compose(within).text], {type: "image/svg+xml"}), `${name}.svg`);
}

export async function savePNG(within, name) {
  const {text, width, height} = compose(within);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  download(await new Promise((made) => canvas.toBlob(made, "image/png")), `${name}.png`);
}

// download saves a blob.
export function download(blob, name) {
  const a = document.createElement("a");
  a.download = name;
  a.href = URL.createObjectURL(blob);
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}

// compose returns the charts in an element, and the texts and keys around them, as one SVG that does not depend on the
// page.
function compose(within) {
  const parts = [...within.querySelectorAll("h2, .sentence, .setting, .why, .grid ~ .quiet:not(.live), h3, .verdict, .formula, .note, .legend > span, figcaption, .chart > svg")].filter((e) => e.checkVisibility());
  const boxes = parts.map((e) => e.getBoundingClientRect());
  const left = Math.min(...boxes.map((b) => b.left)) - margin, top = Math.min(...boxes.map((b) => b.top)) - margin;
  const width = Math.ceil(Math.max(...boxes.map((b) => b.right)) - left + margin), height = Math.ceil(Math.max(...boxes.map((b) => b.bottom)) - top + margin);
  const page = getComputedStyle(document.documentElement);
  const body = getComputedStyle(document.body);
  const svg = make("svg", {xmlns: ns, viewBox: `0 0 ${width} ${height}`, width, height, "font-family": body.fontFamily});
  svg.append(make("rect", {width, height, fill: body.backgroundColor}));
  for (const [i, e] of parts.entries()) {
    const x = boxes[i].left - left, y = boxes[i].top - top;
    if (e instanceof SVGElement) {
      const copy = e.cloneNode(true);
      for (const [k, v] of Object.entries({x, y, width: boxes[i].width, height: boxes[i].height, color: getComputedStyle(e).color})) copy.setAttribute(k, v);
      copy.removeAttribute("class");
      copy.removeAttribute("aria-hidden");
      copy.style.fontFamily = body.fontFamily;
      svg.append(copy);
    } else {
      svg.append(...write(e, left, top));
    }
  }
  const text = new XMLSerializer().serializeToString(svg).replace(/var\((--\w+)\)/g, (_, name) => page.getPropertyValue(name).trim());
  return {text, width, height};
}

// write returns the texts of an element at their positions, line by line, and its keys.
function* write(element, left, top) {
  for (const key of element.querySelectorAll(".swatch, .key")) {
    const b = key.getBoundingClientRect();
    const s = getComputedStyle(key);
    if (s.borderTopStyle === "dashed") {
      yield make("path", {d: `M${b.left - left} ${b.top - top}h${b.width}`, stroke: s.borderTopColor, "stroke-dasharray": "4 3"});
    } else {
      yield make("rect", {x: b.left - left, y: b.top - top, width: b.width, height: b.height, rx: Math.min(parseFloat(s.borderRadius) || 0, b.width / 2), fill: s.backgroundColor});
    }
  }
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentElement.closest("button") || !node.data.trim()) continue;
    const s = getComputedStyle(node.parentElement);
    for (const {text, box} of lines(node)) {
      yield make("text", {
        x: box.left - left, y: box.top - top + box.height / 2 + 0.35 * parseFloat(s.fontSize), fill: s.color, "font-size": s.fontSize, "font-weight": s.fontWeight,
      }, text);
    }
  }
}

// lines returns the lines of a text, as the page wraps them.
function lines(node) {
  const found = [];
  const range = document.createRange();
  for (const word of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].trimEnd().length);
    const box = range.getBoundingClientRect();
    const last = found.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 3) last.text += word[0];
    else found.push({text: word[0], box});
  }
  return found;
}
