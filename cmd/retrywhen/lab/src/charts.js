// The charts. They draw the numbers that they are given and compute none.
import {plot as draw, dot, line, rectY, lineY, ruleX, ruleY, axisX, axisY, gridX, gridY, tip, pointerX, text} from "@observablehq/plot";

const seriesColors = 8;
const retryColors = 8;

export const series = (i) => `var(--s${i % seriesColors})`;
const retry = (k, n) => `var(--r${n <= 1 ? 0 : Math.floor((k * (retryColors - 1)) / (n - 1))})`;

// plot draws a picture, and leaves one name to it: parts of a picture may have none (aria-prohibited-attr).
function plot(options) {
  const picture = draw(options);
  picture.setAttribute("role", "img");
  for (const part of picture.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return picture;
}

const style = {background: "none", fontFamily: "inherit", fontSize: "11px", color: "var(--muted)", overflow: "visible"};
const left = 44;
const right = 14;

// timeX returns the axis and the grid of a chart of time.
function timeX(axis, width, {labels = true} = {}) {
  const ticks = width < 520 ? axis.narrow : axis.wide;
  const at = ticks.map((t) => t.at);
  const name = new Map(ticks.map((t) => [t.at, t.label]));
  const marks = [gridX(at, {stroke: "var(--grid)", strokeOpacity: 1})];
  if (labels) marks.push(axisX(at, {tickFormat: (d) => name.get(d), tickSize: 0, label: null, color: "currentColor"}));
  return {x: {domain: [0, axis.most], label: null, axis: null}, marks};
}

// ticksY returns the grid and the labels of an axis whose ticks are given; its scale has no axis of its own.
function ticksY(ticks, labels = {}) {
  return [
    gridY(ticks.map((t) => t.at), {stroke: "var(--grid)", strokeOpacity: 1}),
    text(ticks, {y: "at", text: "label", frameAnchor: "left", textAnchor: "end", dx: -6, fill: "currentColor", ...labels}),
  ];
}

const whole = (d) => (Number.isInteger(d) ? d.toLocaleString("en") : "");

// dots: a dot for each retry, on a line for each job.
export function dots(s, jobs, width) {
  const n = s.times[0]?.length ?? 0;
  const points = [];
  s.times.forEach((times, i) => times.forEach((t, k) => points.push({t, k, job: s.jobs[i]})));
  const {x, marks} = timeX(s.axis, width, {labels: false});
  return plot({
    width, height: 190, marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 6, style, x,
    y: {domain: [0, Math.max(jobs - 1, 1)], label: null, ticks: 4},
    color: {type: "ordinal", domain: Array.from({length: n}, (_, k) => k), range: Array.from({length: n}, (_, k) => retry(k, n))},
    ariaLabel: `${s.title}: a dot for each retry, time against job`,
    marks: [
      ...marks,
      axisY({tickSize: 0, tickFormat: whole, label: null, ticks: 4}),
      line(points, {x: "t", y: "job", z: "job", stroke: "currentColor", strokeOpacity: 0.13, strokeWidth: 0.6}),
      dot(points, {x: "t", y: "job", fill: "k", r: s.jobs.length > 120 ? 1.3 : 1.8}),
    ],
  });
}

// load: the histogram under the dots.
export function load(s, width) {
  const {x, marks} = timeX(s.axis, width);
  return plot({
    width, height: 92, marginLeft: left, marginRight: right, marginTop: 6, marginBottom: 22, style, x,
    y: {label: null, ticks: 2},
    ariaLabel: `${s.title}: retries in each ${s.binLabel}`,
    marks: [
      ...marks,
      axisY({ticks: 2, tickSize: 0, tickFormat: whole, label: null}),
      rectY(s.load.map((c, i) => ({c, from: i * s.bin, to: (i + 1) * s.bin})).filter((b) => b.c > 0), {x1: "from", x2: "to", y: "c", fill: "var(--bar)", inset: 0, insetLeft: 0.2, insetRight: 0.2}),
      ruleY([0], {stroke: "var(--grid)"}),
    ],
  });
}

// waits: a small chart for each retry, job against the wait before it.
export function waits(s, jobs, width) {
  const n = s.waits[0]?.length ?? 0;
  const most = width < 420 ? 5 : 8;
  const shown = n <= most ? Array.from({length: n}, (_, k) => k) : Array.from({length: most}, (_, i) => Math.round((i * (n - 1)) / (most - 1)));
  const points = [];
  s.waits.forEach((waits, i) => shown.forEach((k) => points.push({wait: waits[k], k, job: s.jobs[i]})));
  return plot({
    width, height: 150, marginLeft: left, marginRight: right, marginTop: 22, marginBottom: 8, style,
    fx: {domain: shown, label: null, padding: 0.12, axis: null},
    x: {domain: [0, Math.max(jobs - 1, 1)], axis: null},
    y: {domain: [0, Math.max(...points.map((p) => p.wait), Number.EPSILON)], axis: null},
    color: {type: "ordinal", domain: Array.from({length: n}, (_, k) => k), range: Array.from({length: n}, (_, k) => retry(k, n))},
    ariaLabel: `${s.title}: the wait before each retry, job against wait`,
    marks: [
      ...ticksY(s.waitTicks, {fx: () => shown[0]}),
      text(shown, {fx: (k) => k, text: (k) => `${k}→${k + 1}`, frameAnchor: "top", dy: -14, fill: "currentColor"}),
      dot(points, {fx: "k", x: "job", y: "wait", fill: "k", r: 1.3}),
      ruleY([0], {stroke: "var(--grid)"}),
    ],
  });
}

// contention: a line for each strategy.
export function contention(c, what, width) {
  const points = c.strategies.flatMap((s, i) => s.points.map((p) => ({...p, i})));
  if (!points.length) return null;
  const log = what === "time";
  const ticks = log ? c.timeTicks : c.callTicks;
  const least = Math.min(...points.map((p) => p[what]).filter((v) => v > 0));
  const most = Math.max(...points.map((p) => p[what]));
  return plot({
    width, height: 260, marginLeft: left, marginRight: right, marginTop: 12, marginBottom: 34, style,
    x: {domain: [0, c.clients], label: "clients", labelArrow: "none", tickSize: 0, ticks: Math.min(5, c.clients), tickFormat: whole},
    y: log ? {type: "log", domain: [least / 1.2, most * 1.2], axis: null} : {domain: [0, most * 1.05], axis: null},
    ariaLabel: log ? "time until all have written, against the number of clients" : "write calls, against the number of clients",
    marks: [
      ...ticksY(ticks),
      lineY(points, {x: "clients", y: what, z: "i", stroke: (p) => series(p.i), strokeWidth: 1.8}),
      dot(points, {x: "clients", y: what, fill: (p) => series(p.i), r: 2.6}),
      tip(points, pointerX({x: "clients", y: what, title: "label", fill: "var(--paper)", stroke: "var(--line)"})),
    ],
  });
}

// outage: attempts, and of them those that were served.
export function outage(o, s, width) {
  const bars = s.attempts.map((attempts, i) => ({attempts, served: s.served[i], from: i * s.bin, to: (i + 1) * s.bin}));
  const {x, marks} = timeX(s.axis, width);
  return plot({
    width, height: 150, marginLeft: left, marginRight: right, marginTop: 18, marginBottom: 22, style, x,
    y: {label: null, ticks: 3},
    ariaLabel: `${s.title}: attempts in each ${s.binLabel}, and those served`,
    marks: [
      ...marks,
      axisY({ticks: 3, tickSize: 0, tickFormat: whole, label: null}),
      rectY(bars.filter((b) => b.attempts > 0), {x1: "from", x2: "to", y: "attempts", fill: "var(--bar)", inset: 0}),
      rectY(bars.filter((b) => b.served > 0), {x1: "from", x2: "to", y: "served", fill: "var(--served)", inset: 0}),
      ruleY([0], {stroke: "var(--grid)"}),
      ruleX([o.down], {stroke: "var(--alarm)", strokeDasharray: "3 2"}),
      text([o.down], {x: (d) => d, text: () => "back", frameAnchor: "top", textAnchor: "start", dx: 4, dy: -13, fill: "var(--alarm)"}),
    ],
  });
}
