// The content of each tab.
import * as charts from "./charts.js";
import {plural} from "./charts.js";
import {swatch} from "./controls.js";
import {$, element, inside, say} from "./page.js";

// cell returns the width of a chart in a grid with a number of items: the grid's columns are at least 340 wide and 26
// apart. It is 0 if the grid is folded.
function cell(grid, items) {
  const width = $(grid).clientWidth;
  if (!width) return 0;
  const columns = Math.max(1, Math.min(Math.floor((width + 26) / 366), items));
  return Math.max(260, Math.floor((width - (columns - 1) * 26) / columns));
}

// figure returns the charts of a strategy under its title.
function figure(i, s, more, ...parts) {
  const f = element("figure", {"data-title": s.title});
  f.append(
    element("div", {class: "about"},
      element("h3", {}, swatch(i), s.title),
      more ? element("p", {class: `verdict ${s.grade ?? ""}`}, more) : null,
      s.formula ? element("p", {class: "formula"}, s.formula) : null, s.note ? element("p", {class: "note"}, s.note) : null),
    ...parts);
  return f;
}

// part returns a chart with all strategies under its title.
function part(title, sentence, chart) {
  const f = element("figure");
  f.append(
    element("div", {class: "about"},
      element("h3", {}, title),
      sentence ? element("figcaption", {}, sentence) : null),
    chart ?? "");
  return f;
}

const key = (kind, name) => element("span", {}, element("span", {class: `key ${kind}`}), name);

// keys returns a key with the colors of all strategies.
const keys = (strategies, name) => element("span", {}, ...strategies.map((_, i) => swatch(i)), name);

// table shows the figures of the strategies, and their terms.
function table(id, strategies, note) {
  const columns = strategies.find((s) => s.figures?.length)?.figures ?? [];
  $(id).replaceChildren(
    element("p", {class: "quiet"}, note),
    element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison"}, element("table", {},
      element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "strategy"), ...columns.map((f) => element("th", {scope: "col", title: f.help}, f.name)))),
      element("tbody", {}, ...strategies.map((s, i) => element("tr", {}, element("th", {scope: "row"}, swatch(i), s.title), ...(s.figures ?? []).map((f) => element("td", {}, f.text))))))),
    element("h3", {class: "terms"}, "Terms"),
    element("dl", {class: "quiet"}, ...columns.flatMap((f) => [element("dt", {}, f.name), element("dd", {}, f.help)])));
}

const row = (name, cells, attributes = {}) => element("tr", {}, ...cells.map((c) => element(name, attributes, c)));

// grid returns a table of texts.
const grid = (name, header, rows) => element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": name}, element("table", {},
  element("thead", {}, row("th", header, {scope: "col"})), element("tbody", {}, ...rows.map((r) => row("td", r)))));

// peak returns a text about the peak and the dead time, or that all retries come at once.
const peak = ({figures: [, most, dead, , , top] = []}, window) => (!most ? "" : /^\d/.test(most.text) ? `peak ${top.text} in ${window}, ${most.text} × the mean; ${dead.text} dead time` : most.text);

// draws are the functions that draw the tabs. With own each chart has its own scale.
export const draws = {
  recover(r, own) {
    $("recover-sentence").textContent = r.sentence;
    $("recover-setting").textContent = r.setting;
    $("recover-legend").replaceChildren(
      key("bar", "requests that reach the server"), keys(r.strategies, `operations that are answered within ${r.healthy}, by their arrival`),
      key("line", `capacity: ${Number(r.capacity.toPrecision(3))} per second`), key("stall", "stall"));
    const width = cell("recover", r.strategies.length), top = own ? undefined : Math.max(...r.strategies.flatMap((s) => s.offered ?? []));
    if (width) $("recover").replaceChildren(...r.strategies.map((s, i) => (s.offered ? figure(i, s, s.verdict, charts.recover(r, s, i, width, top)) : figure(i, s, s.verdict))));
    table("recover-figures", r.strategies, "");
  },
  herd(h, own) {
    $("herd-sentence").textContent = h.sentence;
    const n = Math.max(0, ...h.strategies.flatMap((s) => (s.times ?? []).map((t) => t?.length ?? 0)));
    $("herd-legend").replaceChildren("retry", ...Array.from({length: Math.min(n, 12)}, (_, k) => {
      const at = n <= 12 ? k : Math.round((k * (n - 1)) / 11);
      return element("span", {}, element("span", {class: "swatch", style: `background:${charts.retry(at, n)}`}), String(at + 1));
    }));
    const few = h.strategies.some((s) => s.jobs && s.jobs.length < h.jobs);
    $("herd-note").textContent = `A faint line joins the retries of one job.${few ? " Only some of the jobs are drawn." : ""}`;
    let width = cell("herd", h.strategies.length);
    if (width) {
      $("herd").replaceChildren(...h.strategies.map((s, i) => (s.times
        ? figure(i, s, peak(s, h.peakWindow), charts.dots(s, h.jobs, width), charts.load(s, i, width, own ? undefined : h.highest)) : figure(i, s, ""))));
    }
    width = cell("waits", h.strategies.length);
    $("waits-sentence").textContent = h.waitsSentence;
    if (width) $("waits").replaceChildren(...h.strategies.map((s, i) => (s.times ? figure(i, s, s.figures ? `CV ${s.figures[3].text}` : "", charts.waits(h, s, h.jobs, width, own)) : figure(i, s, ""))));
    table("herd-figures", h.strategies, `Means of ${plural(h.runs, "run", "runs")}.`);
  },
  contention(c) {
    $("contention-sentence").textContent = c.sentence;
    $("contention-note").textContent = `Each message takes ${c.message}; a write succeeds if no other client has written since its read. Lines are means of ${plural(c.runs, "run", "runs")}; bands go from their minimum to their maximum.`;
    $("contention-legend").replaceChildren(...c.strategies.flatMap((s, i) => (s.note ? [element("span", {}, swatch(i), s.title, element("small", {class: "note"}, ` ${s.note}`))] : [])));
    const width = cell("contention", 2);
    if (width) $("contention").replaceChildren(part("Write calls", "", charts.contention(c, "calls", width)), part("Time until all are done", c.timeSentence, charts.contention(c, "time", width)));
  },
  outage(o, own) {
    $("outage-sentence").textContent = o.sentence;
    $("outage-legend").replaceChildren(key("bar", "attempts"), keys(o.strategies, "attempts served"), key("line", "capacity"), own ? "" : "Higher bars are cut off.");
    const width = cell("outage", o.strategies.length);
    if (width) {
      const soonest = [...o.strategies.entries()].sort(([, a], [, b]) => (a.end ?? Infinity) - (b.end ?? Infinity) || 0);
      $("outage").replaceChildren(...soonest.map(([i, s]) => (s.attempts ? figure(i, s, s.summary, charts.outage(o, s, i, width, own ? undefined : o.top)) : figure(i, s, ""))));
    }
    table("outage-figures", o.strategies, "");
  },
  choose(c, own, state) {
    $("choose-sentence").textContent = c.sentence;
    const live = inside?.engine !== "none";
    $("choose-policy").replaceChildren(...(c.policies ?? []).map((p) => {
      const run = new URLSearchParams({tab: "recover", load: p.overload.load, rate: p.overload.rate, patience: p.overload.patience, s: p.overload.policy});
      if (state.fields.seed) run.set("seed", state.fields.seed);
      return element("div", {class: "advice"}, element("h3", {}, p.title), goline({title: p.use, go: p.go}),
        element("p", {class: "why"}, p.sentence, " ", live ? element("a", {class: "goes", href: `?${run}`}, "See that run") : null));
    }));
    $("choose-outages").replaceChildren(...(c.policies ? [grid("Outages", ["outage", ...c.policies.flatMap((p) => [`${p.use}: served`, "attempts per client"])],
      c.outages.map((name, i) => [name, ...c.policies.flatMap((p) => [`${p.outages[i].served} of ${p.outages[i].of}`, String(Number(p.outages[i].attempts.toPrecision(3)))])]))] : []));
    $("choose-note").replaceChildren(c.note ?? "", ...(c.note && live ? [" ", element("button", {type: "button", id: "go-on"}, "Go on")] : []));
    $("choose-legend").replaceChildren(...c.strategies.map((s, i) => element("span", {}, swatch(i), s.recommended ? element("b", {}, s.title) : s.title, element("small", {}, ` ${s.purpose}`), s.meets ? null : element("small", {class: "note"}, " misses a target"))));
    const width = cell("choose", 2);
    if (width) $("choose").replaceChildren(part("Time from the server's return until all are served", "", charts.choose(c, "after", width)), part("Refusals per client after the server's return", "", charts.choose(c, "refusals", width)));
    const compare = new URLSearchParams({tab: "outage", down: c.longest});
    for (const s of c.strategies) compare.append("s", `${s.title}: ${s.text}`);
    for (const f of ["affected", "capacity", "seed"]) if (state.fields[f]) compare.set(f, state.fields[f]);
    $("compare").href = `?${compare}`;
    table("choose-figures", c.strategies, "");
    golines(c.strategies);
  },
  picture(p) {
    $("picture-sentence").textContent = p.sentence;
    $("picture").innerHTML = p.picture; // an SVG that the command has drawn
    $("picture-tables").replaceChildren(...p.tables.flatMap((t) => [
      element("h3", {}, t.title), t.formula ? element("p", {class: "quiet"}, t.formula) : "", grid(t.title, t.header, t.rows ?? []),
    ]));
  },
};

// golines shows the Go code of the strategies.
export function golines(strategies) {
  $("golines").replaceChildren(...strategies.map((s, i) => goline(s, swatch(i))));
}

const goline = (s, ...before) => element("div", {class: "goline"}, ...before,
  element("code", {tabindex: "0", role: "group", "aria-label": `Go for ${s.title}`}, s.go),
  element("button", {type: "button", "aria-label": `Copy the line for ${s.title}`, onclick: (e) => copy(e.currentTarget, s.go, "The line")}, "Copy"));

// copy copies a text and reports that. If the browser forbids it, it shows the text.
export async function copy(button, text, what) {
  const name = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    say(`${what} is copied.`);
  } catch {
    prompt(`${what}:`, text);
  }
  setTimeout(() => (button.textContent = name), 1500);
}
