// The content of each tab.
import * as charts from "./charts.js";
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
  choose(c) {
    const live = inside?.engine !== "none", best = c.strategies.findIndex((s) => s.recommended);
    const show = (chosen) => {
      const s = c.strategies[chosen], width = $("choose").clientWidth;
      if (width) $("choose").replaceChildren(charts.choose(c, Math.min(width, 900), chosen, (p) => show(p.i)));
      $(`choose-${chosen}`).checked = true;
      const job = s.recommended ? c.policies?.find((p) => p.use === "job") : null, request = c.policies?.find((p) => p.use === "request");
      $("choose-policy").replaceChildren(
        advice(job?.title ?? s.title, job?.sentence ?? `${s.figures.map((f) => `${f.name}: ${f.text}`).join("; ")}.`, {title: s.title, go: job?.go ?? s.go}, s.meets ? s.formula : `It misses a target. ${s.formula}`),
        ...(request ? [advice(request.title, request.sentence, {title: "request", go: request.go})] : []));
    };
    $("choose-sentence").textContent = c.sentence;
    const legend = $("choose-legend").querySelector("legend");
    $("choose-legend").replaceChildren(legend, ...c.strategies.map((s, i) => element("label", {for: `choose-${i}`},
      element("input", {type: "radio", name: "choose", id: `choose-${i}`, onchange: () => show(i)}), swatch(i), s.recommended ? element("b", {}, s.title) : s.title, s.meets ? null : element("small", {class: "note"}, "misses a target"))));
    $("choose-outages").replaceChildren(...(c.policies ? [grid("Outages", ["outage", ...c.policies.flatMap((p) => [`${p.use}: served`, "attempts per client"])],
      c.outages.map((name, i) => [name, ...c.policies.flatMap((p) => [`${p.outages[i].served} of ${p.outages[i].of}`, String(Number(p.outages[i].attempts.toPrecision(3)))])]))] : []));
    $("choose-note").replaceChildren(c.note ?? "", ...(c.note && live ? [" ", element("button", {type: "button", id: "go-on"}, "Go on")] : []));
    if (c.strategies.length) show(Math.max(best, 0));
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

// advice returns a policy with what happens with it.
const advice = (title, sentence, line, formula) => element("div", {class: "advice"}, element("h3", {}, title), formula ? element("p", {class: "formula"}, formula) : null,
  goline(line), element("p", {class: "why"}, sentence));

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
