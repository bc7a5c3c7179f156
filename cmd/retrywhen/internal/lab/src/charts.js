// The charts. They draw numbers and compute none.
import {plot, dot, rectY, rect, ruleX, ruleY, axisX, axisY, gridX, gridY, text} from "@observablehq/plot";
import {make} from "./page.js";
import {reading} from "./reading.js";
import {time} from "./time.js";

const seriesColors = 8;

export const series = (i) => `var(--s${i % seriesColors})`;

const style = {background: "none", fontFamily: "inherit", fontSize: "11px", color: "var(--muted)", overflow: "visible"};
const left = 46;
const right = 14;

// chart draws a chart with one label. A pointer and the keyboard read its points: along an axis, or in the whole area.
function chart({label, ...options}, points, along, picks) {
  const svg = plot({marginLeft: left, marginRight: right, style, ...options});
  svg.setAttribute("aria-hidden", "true");
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  const x = svg.scale("x"), y = svg.scale("y");
  const at = points.map((p) => ({...p, x: x.apply(p.x), y: y.apply(p.y)}));
  return reading(svg, label, at, along, picks);
}

export const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// timeX returns the time axis and its grid.
function timeX(axis, width, {name = "time"} = {}) {
  const ticks = width < 520 ? axis.narrow : axis.wide;
  const at = ticks.map((t) => t.at);
  const names = new Map(ticks.map((t) => [t.at, t.label]));
  const marks = [
    gridX(at, {stroke: "var(--grid)", strokeOpacity: 1}),
    axisX(at, {tickFormat: (d) => names.get(d), tickSize: 0, label: null, color: "currentColor"}),
    text([name], {text: (d) => d, frameAnchor: "bottom-right", dy: 32, fill: "currentColor"}),
  ];
  return {x: {domain: [0, Math.max(axis.most, Number.EPSILON)], label: null, axis: null}, marks};
}

// nameY returns the name above the y axis.
const nameY = (name) => text([name], {text: (d) => d, frameAnchor: "top-left", dx: -left + 2, dy: -17, textAnchor: "start", fill: "currentColor"});

// ticksY returns the grid and the labels of a y axis for given ticks.
function ticksY(ticks) {
  return [
    gridY(ticks.map((t) => t.at), {stroke: "var(--grid)", strokeOpacity: 1}),
    text(ticks, {y: "at", text: "label", frameAnchor: "left", textAnchor: "end", dx: -6, fill: "currentColor"}),
  ];
}

const some = (d) => (Number.isInteger(d) ? d.toLocaleString("en") : String(Number(d.toPrecision(3))));
const numbersY = (ticks, format = some) => [gridY({ticks, stroke: "var(--grid)", strokeOpacity: 1}), axisY({ticks, tickSize: 0, tickFormat: format, label: null})];

// perSecond returns a rate as a text.
const perSecond = (n, one, many) => `${plural(Number(n.toPrecision(3)), one, many)} per second`;

// moment marks a moment of a strategy with its name, above the chart.
const moment = (at, name, i, most, dy = -11) => [
  ruleX([at], {stroke: series(i), strokeWidth: 1.5}),
  text([name], {x: () => at, text: (d) => d, frameAnchor: "top", textAnchor: at > 0.8 * most ? "end" : "start", dy, fill: "currentColor"}),
];

// capacity marks the server's capacity.
const capacity = (at, most) => [
  ruleY([at], {stroke: "var(--alarm)", strokeDasharray: "4 3"}),
  text(["capacity"], {x: () => most, y: () => at, text: (d) => d, textAnchor: "end", dy: -7, fill: "var(--alarm)", stroke: "var(--paper)", strokeWidth: 4}),
];

// bins and columns return the bars of counts, one for each bin, on an axis from 0 to span.
const bins = (counts, bin) => counts.map((c, i) => ({c, from: i * bin, to: (i + 1) * bin, middle: (i + 0.5) * bin}));
const columns = (data, fill, span, most = Infinity) => {
  const least = span / 300; // so that a bar can be seen
  const thin = data.length > 0 && data[0].to - data[0].from < 1.5 * least, inset = thin ? 0 : 0.2;
  return rectY(data.filter((b) => b.c > 0).map((b) => ({...b, c: Math.min(b.c, most), to: Math.min(thin ? b.from + least : b.to, 1.01 * span)})), {x1: "from", x2: "to", y: "c", fill, inset: 0, insetLeft: inset, insetRight: inset});
};
const within = (b, origin = 0) => `${time(b.from - origin)} to ${time(b.to - origin)}`;

// recover: the requests that reach the server, the operations that are answered in time, and the server's capacity.
export function recover(r, s, i, width, most) {
  const offered = bins(s.offered, r.bin), healthy = bins(s.healthy, r.bin);
  const top = Math.max(most ?? Math.max(...s.offered), r.capacity) * 1.04;
  const {x, marks} = timeX(r.axis, width);
  return chart({
    label: `${s.title}: requests per second that reach the server, and operations per second that are answered in time, over time`,
    width, height: 196, marginTop: 22, marginBottom: 36, x, y: {domain: [0, top], axis: null},
    marks: [
      rect([r], {x1: "from", x2: "to", fill: "var(--stall)"}),
      ...marks, ...numbersY(4), nameY("per second"),
      columns(offered, "var(--bar)", r.axis.most), columns(healthy, series(i), r.axis.most),
      ruleY([0], {stroke: "var(--grid)"}),
      ...capacity(r.capacity, r.axis.most),
      ...(s.recovered ? moment(s.recovered, "recovered", i, r.axis.most) : []),
    ],
  }, offered.map((b, k) => ({x: b.middle, y: Math.min(b.c, top), text: `${within(b)}: ${perSecond(b.c, "request", "requests")}, ${perSecond(healthy[k].c, "success", "successes")}`})), "x");
}

// choose: a dot for each policy, refusals against the time until all are served. picks is called with a policy that a
// pointer has chosen.
export function choose(c, width, chosen, picks) {
  const points = c.strategies.flatMap((s, i) => (s.never ? [] : [{x: s.end, y: s.refusals, i, title: s.title}]));
  const top = Math.max(...points.map((p) => p.y), c.ticks.at(-1)?.at ?? 1) * 1.08;
  const {x, marks} = timeX(c.axis, width, {name: "time from the server's return until all are served"});
  const frame = chart({
    label: "refusals per client against the time until all are served, a dot for each policy",
    width, height: 320, marginTop: 24, marginBottom: 36, x, y: {domain: [0, top], axis: null},
    marks: [
      ...marks, ...ticksY(c.ticks), nameY("refusals per client"), ruleY([0], {stroke: "var(--grid)"}),
      dot(points, {x: "x", y: "y", fill: (p) => series(p.i), r: (p) => (p.i === chosen ? 9 : 5), stroke: "var(--ink)", strokeWidth: (p) => (p.i === chosen ? 2 : 0)}),
    ],
  }, points.map((p) => ({x: p.x, y: p.y, i: p.i, text: `${p.title}: all served after ${time(p.x)}, ${plural(Number(p.y.toPrecision(3)), "refusal", "refusals")} per client`})), false, picks);
  names(frame.querySelector("svg"), points);
  return frame;
}

// names writes the title of each point beside its dot, where it lies over no other title and no dot.
function names(svg, points) {
  const x = svg.scale("x"), y = svg.scale("y"), wide = svg.viewBox.baseVal.width;
  const dots = points.map((p) => ({...p, cx: x.apply(p.x), cy: y.apply(p.y)}));
  const taken = dots.map((d) => [d.cx - 8, d.cy - 8, d.cx + 8, d.cy + 8]);
  for (const d of dots.toSorted((a, b) => a.cy - b.cy)) {
    const w = 5.8 * d.title.length;
    const places = [0, -14, 14, -28, 28, -42, 42, -56, 56].flatMap((dy) => [[d.cx + 12, d.cy + 4 + dy], [d.cx - 12 - w, d.cy + 4 + dy]]);
    const box = ([left, base]) => [left - 2, base - 11, left + w + 2, base + 3];
    const free = (b) => b[0] >= left && b[2] <= wide && b[1] >= 12 && b[3] <= svg.viewBox.baseVal.height - 34 && !taken.some((t) => b[0] < t[2] && t[0] < b[2] && b[1] < t[3] && t[1] < b[3]);
    const place = places.find((at) => free(box(at)));
    if (!place) continue; // the legend has all titles
    taken.push(box(place));
    const above = Math.abs(place[1] - 4 - d.cy) > 10;
    if (above) svg.prepend(make("path", {d: `M${d.cx} ${d.cy}L${place[0] > d.cx ? place[0] - 2 : place[0] + w + 2} ${place[1] - 4}`, stroke: series(d.i), "stroke-width": 0.7}));
    svg.append(make("text", {x: place[0], y: place[1], fill: "currentColor", stroke: "var(--paper)", "stroke-width": 3, "paint-order": "stroke", "text-anchor": "start"}, d.title));
  }
}

// outage: the attempts, those that were served, the server's capacity, and the best possible end. Bars higher than most
// are cut off.
export function outage(o, s, i, width, most) {
  const attempts = bins(s.attempts, s.bin), served = bins(s.served, s.bin);
  const top = most ?? Math.max(...s.attempts, o.capacity) * 1.1;
  const {x, marks} = timeX(s.axis, width, {name: "time since the server's return"});
  const lines = [{at: o.down, name: "back"}, {at: o.best, name: "best end"}];
  const apart = (o.best - o.down) / s.axis.most > 0.2;
  return chart({
    label: `${s.title}: attempts per second, and those that are served`,
    width, height: 198, marginTop: 44, marginBottom: 36, x, y: {domain: [0, top], axis: null},
    marks: [
      ...marks, ...numbersY(3), nameY("per second"),
      columns(attempts, "var(--bar)", s.axis.most, top), columns(served, series(i), s.axis.most, top),
      ruleY([0], {stroke: "var(--grid)"}),
      ...capacity(o.capacity, s.axis.most),
      ruleX(lines, {x: "at", stroke: "currentColor", strokeDasharray: "2 2"}),
      text(lines, {x: "at", text: "name", frameAnchor: "top", textAnchor: (d) => (d.at > 0.8 * s.axis.most || (!apart && d.name === "back") ? "end" : "start"), dx: 0, dy: -13, fill: "currentColor"}),
      ...(s.end ? moment(s.end, "all served", i, s.axis.most, -26) : []),
    ],
  }, attempts.map((b, k) => ({x: Math.min(b.middle, s.axis.most), y: Math.min(b.c, top), text: `${within(b, o.down)}: ${perSecond(b.c, "attempt", "attempts")}, ${some(served[k]?.c ?? 0)} served`})), "x");
}
