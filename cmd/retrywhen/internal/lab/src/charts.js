// The charts. They draw numbers and compute none.
import {plot, dot, line, rectY, rect, areaY, lineY, ruleX, ruleY, axisX, axisY, gridX, gridY, text} from "@observablehq/plot";
import {make} from "./page.js";
import {reading} from "./reading.js";
import {time} from "./time.js";

const seriesColors = 8;
const retryColors = 8;

export const series = (i) => `var(--s${i % seriesColors})`;
export const retry = (k, n) => `var(--r${n <= 1 ? 0 : Math.floor((k * (retryColors - 1)) / (n - 1))})`;

const style = {background: "none", fontFamily: "inherit", fontSize: "11px", color: "var(--muted)", overflow: "visible"};
const left = 46;
const right = 14;

// chart draws a chart with one label. A pointer and the keyboard read its points: along an axis, or in the whole area.
function chart({label, ends = [], ...options}, points, along) {
  const svg = plot({marginLeft: left, marginRight: Math.max(right, ...ends.map((e) => 28 + 6 * shorten(e.text).length)), style, ...options});
  name(svg, ends);
  svg.setAttribute("aria-hidden", "true");
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  const x = svg.scale("x"), y = svg.scale("y"), fx = svg.scale("fx");
  const at = points.map((p) => ({x: (fx ? fx.apply(p.fx) - left : 0) + x.apply(p.x), y: y.apply(p.y), text: p.text}));
  return reading(svg, label, at, along);
}

const shorten = (title) => (title.length > 20 ? `${title.slice(0, 19)}…` : title);

// name writes the names of lines at the right of their ends, moved apart where they would overlap.
function name(svg, ends) {
  const step = 14, x = svg.scale("x"), y = svg.scale("y");
  const at = ends.map((e) => ({...e, x: x.apply(e.x), y: y.apply(e.y)})).sort((a, b) => a.y - b.y);
  const bottom = Math.max(...y.range), right = Math.max(...x.range);
  let floor = bottom;
  for (const e of at.toReversed()) floor = (e.place = Math.min(e.y, floor)) - step;
  let top = Math.min(...y.range);
  for (const e of at) {
    top = (e.place = Math.max(e.place, top)) + step;
    svg.append(
      make("path", {d: `M${e.x} ${e.y}H${right + 4}L${right + 10} ${e.place}`, fill: "none", stroke: series(e.i), "stroke-width": 0.7}),
      make("circle", {cx: right + 12, cy: e.place, r: 3, fill: series(e.i)}),
      make("text", {x: right + 18, y: e.place + 4, fill: "currentColor", "text-anchor": "start"}, shorten(e.text)));
  }
}

export const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// timeX returns the time axis and its grid.
function timeX(axis, width, {labels = true, name = "time"} = {}) {
  const ticks = width < 520 ? axis.narrow : axis.wide;
  const at = ticks.map((t) => t.at);
  const names = new Map(ticks.map((t) => [t.at, t.label]));
  const marks = [gridX(at, {stroke: "var(--grid)", strokeOpacity: 1})];
  if (labels) {
    marks.push(
      axisX(at, {tickFormat: (d) => names.get(d), tickSize: 0, label: null, color: "currentColor"}),
      text([name], {text: (d) => d, frameAnchor: "bottom-right", dy: 32, fill: "currentColor"}));
  }
  return {x: {domain: [0, Math.max(axis.most, Number.EPSILON)], label: null, axis: null}, marks};
}

// nameY returns the name above the y axis.
const nameY = (name) => text([name], {text: (d) => d, frameAnchor: "top-left", dx: -left + 2, dy: -17, textAnchor: "start", fill: "currentColor"});

// ticksY returns the grid and the labels of a y axis for given ticks.
function ticksY(ticks, labels = {}) {
  return [
    gridY(ticks.map((t) => t.at), {stroke: "var(--grid)", strokeOpacity: 1}),
    text(ticks, {y: "at", text: "label", frameAnchor: "left", textAnchor: "end", dx: -6, fill: "currentColor", ...labels}),
  ];
}

const whole = (d) => (Number.isInteger(d) ? d.toLocaleString("en") : "");
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

// dots: a dot for each retry, on a line for each job.
export function dots(s, jobs, width) {
  const n = Math.max(0, ...s.times.map((t) => t?.length ?? 0));
  const points = [];
  s.times.forEach((times, i) => times?.forEach((t, k) => points.push({t, k, job: s.jobs[i], wait: s.waits[i][k]})));
  const {x, marks} = timeX(s.axis, width, {labels: false});
  return chart({
    label: `${s.title}: a dot for each retry, job against time`,
    width, height: 200, marginTop: 22, marginBottom: 6, x,
    y: {domain: [0, Math.max(jobs - 1, 1)], axis: null},
    color: {type: "ordinal", domain: Array.from({length: n}, (_, k) => k), range: Array.from({length: n}, (_, k) => retry(k, n))},
    marks: [
      ...marks, ...numbersY(4, whole), nameY("job"),
      line(points, {x: "t", y: "job", z: "job", stroke: "currentColor", strokeOpacity: 0.13, strokeWidth: 0.6}),
      dot(points, {x: "t", y: "job", fill: "k", r: s.jobs.length > 120 ? 1.3 : 1.8}),
    ],
  }, points.map((p) => ({x: p.t, y: p.job, text: `job ${p.job}, retry ${p.k + 1}: at ${time(p.t)}, after a wait of ${time(p.wait)}`})));
}

// load: the histogram under the dots.
export function load(s, i, width, most) {
  const {x, marks} = timeX(s.axis, width, {name: "time since the failure"});
  const counts = bins(s.load, s.bin);
  const top = most ?? Math.max(...s.load);
  return chart({
    label: `${s.title}: retries per second, over time`,
    width, height: 126, marginTop: 24, marginBottom: 36, x, y: {domain: [0, top], axis: null},
    marks: [...marks, ...numbersY(2), nameY("retries per second"), columns(counts, series(i), s.axis.most), ruleY([0], {stroke: "var(--grid)"})],
  }, counts.map((b) => ({x: Math.min(b.middle, s.axis.most), y: Math.min(b.c, top), text: `${within(b)}: ${perSecond(b.c, "retry", "retries")}`})), "x");
}

// waits: a small chart for each retry, with the wait before it against the job.
export function waits(h, s, jobs, width, own) {
  const n = Math.max(0, ...s.waits.map((w) => w?.length ?? 0));
  const most = width < 420 ? 5 : 8;
  const shown = n <= most ? Array.from({length: n}, (_, k) => k) : Array.from({length: most}, (_, i) => Math.round((i * (n - 1)) / (most - 1)));
  const points = [];
  s.waits.forEach((waits, i) => shown.forEach((k) => waits?.[k] !== undefined && points.push({wait: waits[k], k, job: s.jobs[i]})));
  return chart({
    label: `${s.title}: the wait before each retry, wait against job`,
    width, height: 176, marginTop: 36, marginBottom: 22,
    fx: {domain: shown, label: null, padding: 0.12, axis: null},
    x: {domain: [0, Math.max(jobs - 1, 1)], axis: null},
    y: {domain: [0, Math.max(own ? Math.max(...points.map((p) => p.wait)) : h.longest, Number.EPSILON)], axis: null},
    color: {type: "ordinal", domain: Array.from({length: n}, (_, k) => k), range: Array.from({length: n}, (_, k) => retry(k, n))},
    marks: [
      ...ticksY(own ? h.waitTicks.filter((t) => points.some((p) => p.wait >= t.at)) : h.waitTicks, {fx: () => shown[0]}),
      text(["wait"], {fx: () => shown[0], text: (d) => d, frameAnchor: "top-left", dx: -left + 2, dy: -30, textAnchor: "start", fill: "currentColor"}),
      text(["job"], {fx: () => shown.at(-1), text: (d) => d, frameAnchor: "bottom-right", dy: 15, fill: "currentColor"}),
      text(shown, {fx: (k) => k, text: (k) => String(k + 1), frameAnchor: "top", dy: -14, fill: "currentColor"}),
      dot(points, {fx: "k", x: "job", y: "wait", fill: "k", r: 1.3}),
      ruleY([0], {stroke: "var(--grid)"}),
    ],
  }, points.map((p) => ({fx: p.k, x: p.job, y: p.wait, text: `job ${p.job}, retry ${p.k + 1}: a wait of ${time(p.wait)}`})));
}

// contention: a line for each strategy, in a band from the minimum to the maximum of its runs.
export function contention(c, what, width) {
  const points = c.strategies.flatMap((s, i) => s.points.map((p) => ({...p, i})));
  if (!points.length) return null;
  const log = what === "time";
  const ticks = log ? c.timeTicks : c.callTicks;
  const least = Math.min(...points.map((p) => p[`${what}Least`]).filter((v) => v > 0));
  const most = Math.max(...points.map((p) => p[`${what}Most`]));
  const floor = log ? least / 1.2 : 0;
  return chart({
    label: log ? "time until all are done, against the number of clients" : "write calls, against the number of clients",
    ends: c.strategies.flatMap((s, i) => s.points.slice(-1).map((p) => ({x: p.clients, y: Math.max(p[what], floor), text: s.title, i}))),
    width, height: 270, marginTop: 22, marginBottom: 36,
    x: {domain: [0, c.clients], label: null, axis: null},
    y: log ? {type: "log", domain: [floor, most * 1.2], axis: null} : {domain: [0, most * 1.05], axis: null},
    marks: [
      ...ticksY(ticks), nameY(log ? "time, logarithmic" : "calls"),
      axisX({ticks: Math.min(5, c.clients), tickSize: 0, tickFormat: whole, label: null, color: "currentColor"}),
      text(["clients"], {text: (d) => d, frameAnchor: "bottom-right", dy: 32, fill: "currentColor"}),
      areaY(points, {x: "clients", y1: (p) => Math.max(p[`${what}Least`], floor), y2: `${what}Most`, z: "i", fill: (p) => series(p.i), fillOpacity: 0.14}),
      lineY(points, {x: "clients", y: what, z: "i", stroke: (p) => series(p.i), strokeWidth: 1.8}),
      dot(points, {x: "clients", y: what, fill: (p) => series(p.i), r: 2.6}),
    ],
  }, points.map((p) => ({x: p.clients, y: Math.max(p[what], floor), text: p.label})));
}

// choose: a line for each policy against the outages, which are evenly spaced.
export function choose(c, what, width) {
  const points = c.strategies.flatMap((s, i) => s[what].map((v, j) => ({v: what === "after" && s.never[j] ? NaN : v, i, j, bold: s.recommended, title: s.title})));
  const after = what === "after";
  const ticks = after ? c.afterTicks : c.refusalTicks;
  const top = Math.max(...points.map((p) => p.v).filter(Number.isFinite), ticks.at(-1).at, after ? c.best : 0) * 1.06;
  const value = (p) => (after ? (Number.isFinite(p.v) ? `all served after ${time(p.v)}` : "never all served") : plural(Number(p.v.toPrecision(3)), "refusal", "refusals"));
  return chart({
    label: after ? "time from the server's return until all are served, against the length of the outage" : "refusals per client after the server's return, against the length of the outage",
    ends: c.strategies.flatMap((s, i) => points.filter((p) => p.i === i && Number.isFinite(p.v)).slice(-1).map((p) => ({x: p.j, y: p.v, text: s.title, i}))),
    width, height: 250, marginTop: 24, marginBottom: 36,
    x: {domain: [-0.2, c.outages.length - 0.8], axis: null}, y: {domain: [0, top], axis: null},
    marks: [
      ...ticksY(ticks), nameY(after ? "time" : "refusals"),
      axisX(c.outages.map((_, i) => i), {tickFormat: (i) => c.outages[i], tickSize: 0, label: null, color: "currentColor"}),
      text(["length of the outage"], {text: (d) => d, frameAnchor: "bottom-right", dy: 32, fill: "currentColor"}),
      ...(after ? [ruleY([c.best], {stroke: "currentColor", strokeDasharray: "2 2"}), text(["best possible"], {text: (d) => d, x: () => c.outages.length - 0.8, y: () => c.best, textAnchor: "end", dy: 8, fill: "currentColor"})] : []),
      lineY(points, {x: "j", y: "v", z: "i", stroke: (p) => series(p.i), strokeWidth: (p) => (p.bold ? 3.2 : 1.5)}),
      dot(points, {x: "j", y: "v", fill: (p) => series(p.i), r: 2.6}),
    ],
  }, points.map((p) => ({x: p.j, y: Number.isFinite(p.v) ? p.v : top, text: `${p.title}, down for ${c.outages[p.j]}: ${value(p)}`})));
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
