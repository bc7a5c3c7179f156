import * as charts from "./charts.js";
import {save} from "./png.js";
import {curves, change, format, initial, names, parse, random} from "./policy.js";

const $ = (id) => document.getElementById(id);

// element makes an element with attributes and children.
function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

const swatch = (i) => element("span", {class: "swatch", style: `background:${charts.series(i)}`, "aria-hidden": "true"});

// inside is the data of a page without a server.
const inside = JSON.parse($("data").textContent.trim() || "null");

const fields = ["jobs", "retries", "peak", "dead", "seed", "clients", "runs", "affected", "down", "capacity", "timeout"];

// The numbers that are shown, and what the controls show.
const shown = {herd: null, contention: null, outage: null};
let defaults = null; // and the presets
let texts = [];
let given = new Set(); // the texts of presets
const jitters = new Map(); // what tiled has taken the place of, by the strategy's place
let selected = 0;

// ---- requests --------------------------------------------------------------------------------------------------------

function query() {
  const q = new URLSearchParams();
  for (const t of texts) q.append("s", t);
  for (const f of fields) if ($(f).value.trim() !== "") q.set(f, $(f).value.trim());
  q.set("axis", $("own").checked ? "own" : "shared");
  return q.toString();
}

let running = null;
let timer = 0;

// get asks the server. Its error is away where a later try may go well.
async function get(path, search, signal) {
  let response, body;
  try {
    response = await fetch(`api/${path}?${search}`, {signal});
    body = await response.json();
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw Object.assign(new Error("The lab's server does not answer."), {away: true});
  }
  if (!response.ok) throw Object.assign(new Error(body.error), {away: response.headers.has("Retry-After")});
  return body;
}

// busy says whether the charts are those of the controls' values: "" they are, "pending" they are being computed, "stale"
// they are not.
function busy(how) {
  document.body.classList.toggle("pending", how === "pending");
  document.body.classList.toggle("stale", how === "stale");
  $("charts").setAttribute("aria-busy", String(how === "pending"));
}

// stop gives up what is under way, so that no old answer overwrites what was entered since.
function stop() {
  clearTimeout(timer);
  running?.abort();
  running = null;
  busy("pending");
}

let failures = 0; // of the server, one after the other

// again tries once more, after 1 s, 2 s, 4 s … up to 30 s, half of it random.
function again(message, attempt) {
  const wait = Math.min(1000 * 2 ** failures++, 30_000) * (0.5 + Math.random() / 2);
  const button = element("button", {type: "button", onclick: () => (stop(), attempt())}, "Try now");
  status(`${message} ${shown.herd ? "The charts show what was chosen before. " : ""}The next try is in ${Math.max(1, Math.round(wait / 1000))} s. `, button);
  timer = setTimeout(attempt, wait);
}

// status says what is wrong with the page as a whole.
function status(...parts) {
  $("status").replaceChildren(...parts);
  $("status").classList.toggle("bad", parts.some((p) => p));
}

// later updates when nothing was entered for a moment.
function later() {
  stop();
  timer = setTimeout(() => update(query()), 150);
}

// update gets the numbers of a query and draws them. While it waits the old ones stay. What is wrong in an address is left
// out; what is wrong in a control is shown there, and nothing is drawn.
async function update(search, {push = false, address = false} = {}) {
  stop();
  const mine = (running = new AbortController());
  let left = "pending";
  try {
    const state = await get("state", search, mine.signal);
    if (running !== mine) return;
    failures = 0;
    if (!address && problems(state.problems ?? [])) {
      left = "stale";
      return;
    }
    const url = `${location.pathname}?${state.query}${selected ? `#${selected}` : ""}`;
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    apply(state);
    problems([]);
    if (state.problems) status(`The address is not understood as a whole: ${state.problems.map((p) => p.message).join("; ")}. The rest is shown.`);
    await Promise.all(["herd", "contention", "outage"].map(async (kind) => {
      const numbers = await get(kind, state.query, mine.signal);
      if (running === mine) draw(kind, numbers);
    }));
    left = "";
  } catch (e) {
    if (running !== mine) return;
    left = "stale";
    if (e.away) again(e.message, () => update(search, {push, address}));
    else status(e.message);
  } finally {
    if (running === mine) {
      busy(left);
      document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
    }
  }
}

// problems shows what is wrong, next to the control that it is about, and reports whether anything is.
function problems(all) {
  const wrong = all.filter((p) => !p.unknown);
  for (const e of document.querySelectorAll("[aria-invalid]")) e.removeAttribute("aria-invalid");
  const policies = wrong.filter((p) => p.parameter === "s");
  if (policies.length && !policies.some((p) => (p.strategy ?? 0) === selected)) {
    selected = policies[0].strategy ?? 0; // the one to put right
    strategies();
  }
  $("error").textContent = policies.filter((p) => (p.strategy ?? 0) === selected).map((p) => p.message).join("; ");
  status(wrong.filter((p) => p.parameter !== "s").map((p) => p.message).join("; "));
  for (const p of wrong) (p.parameter === "s" ? control(p.word) : $(p.parameter))?.setAttribute("aria-invalid", "true");
  return wrong.length > 0;
}

// control is where the word of the selected strategy is entered.
function control(word) {
  const key = (word ?? "").split("=")[0].toLowerCase();
  return $(`p-${key}`) ?? (["plus", "cap", "jitter", "place"].includes(key) ? $(key) : $("text"));
}

// ---- the controls ----------------------------------------------------------------------------------------------------

const unset = (f, value) => (f === "peak" || f === "dead") && value === "0s"; // chosen to fit

// adopt puts what an address holds into the controls.
function adopt(search) {
  const q = new URLSearchParams(search);
  texts = q.has("s") ? q.getAll("s") : [...defaults.strategies];
  for (const f of fields) {
    const value = q.get(f) ?? defaults.fields[f];
    $(f).value = unset(f, value) ? "" : value;
  }
  $("own").checked = (q.get("axis") ?? defaults.fields.axis) === "own";
  strategies();
}

// apply puts what the server has understood into the controls; the one that is being typed in is left alone.
function apply(state) {
  texts = state.strategies;
  for (const f of fields) put(f, unset(f, state.fields[f]) ? "" : state.fields[f]);
  $("own").checked = state.fields.axis === "own";
  $("preset").value = String(defaults.presets.findIndex((p) => p.query === state.query));
  if ($("preset").selectedIndex < 0) $("preset").value = "";
  list();
  editor(put);
}

function put(id, value) {
  if ($(id) !== document.activeElement) $(id).value = value;
}

// strategies shows the texts in all controls.
function strategies() {
  selected = Math.min(selected, Math.max(texts.length - 1, 0));
  list();
  editor((id, value) => ($(id).value = value));
}

// list shows the strategies, one of which is changed below.
function list() {
  const focused = document.activeElement?.id;
  $("strategies").replaceChildren(...texts.map((text, i) => {
    const title = parse(text).name || text;
    return element("div", {class: "strategy"},
      element("label", {for: `strategy-${i}`},
        element("input", {type: "radio", name: "strategy", id: `strategy-${i}`, checked: i === selected, onchange: () => select(i)}),
        swatch(i), element("span", {title: text}, title)),
      texts.length > 1 ? element("button", {type: "button", id: `remove-${i}`, "aria-label": `Remove ${title}`, onclick: () => remove(i)}, "✕") : null);
  }));
  $("add").disabled = texts.length >= 8;
  if (/^(strategy|remove)-/.test(focused ?? "")) ($(focused) ?? $("add")).focus();
}

function select(i) {
  selected = i;
  history.replaceState(null, "", `${location.pathname}${location.search}${i ? `#${i}` : ""}`);
  problems([]);
  strategies();
}

function remove(i) {
  const before = [[...texts], selected];
  const [text] = texts.splice(i, 1);
  if (selected >= i) selected = Math.max(selected - 1, 0);
  strategies();
  const title = parse(text).name || text;
  $("undo").replaceChildren(`“${title}” is removed. `, element("button", {type: "button", onclick: () => {
    [texts, selected] = before;
    $("undo").replaceChildren();
    strategies();
    $(`strategy-${i}`)?.focus();
    update(query());
  }}, "Undo"));
  update(query());
}

function add() {
  const taken = new Set(texts.map((t) => parse(t).name));
  let n = texts.length + 1;
  while (taken.has(`strategy ${n}`)) n++;
  texts.push(format({...parse(texts[selected] ?? "exponential base=1s factor=2"), name: `strategy ${n}`}));
  selected = texts.length - 1;
  strategies();
  update(query());
}

// editor shows the selected strategy; set puts a value into a control.
function editor(set) {
  const s = parse(texts[selected] ?? "");
  set("text", format({...s, name: ""}));
  set("name", s.name);
  set("curve", s.curve);
  const own = curves[s.curve] ?? [];
  const have = [...$("params").querySelectorAll("input")].map((i) => i.name).join();
  if (have !== own.join()) {
    $("params").replaceChildren(...own.map((k) => element("label", {for: `p-${k}`}, `${names[k]} `,
      element("input", {id: `p-${k}`, name: k, spellcheck: "false", oninput: (e) => word(k, e.target.value.trim())}))));
  }
  for (const k of own) set(`p-${k}`, s.words.get(k) ?? initial[k]);
  set("plus", s.words.get("plus") ?? "");
  set("cap", s.words.get("cap") ?? "");
  set("place", s.words.get("place") ?? "one-process");
  const jitter = s.words.get("jitter") ?? "none";
  const options = new Set(["none", "default", "full", "equal", "deviation:0.5", "uniform:0.5:1.5", jitter]);
  $("jitter").replaceChildren(...[...options].map((j) => element("option", {value: j}, j === "default" ? "default (±15 %)" : j)));
  $("jitter").value = jitter;
  $("tiled").checked = s.words.has("tiled");
  $("tiled").disabled = random.has(s.curve);
  $("jitter").disabled = s.words.has("tiled");
}

// word sets or takes away a word of the selected strategy.
function word(key, value) {
  const s = parse(texts[selected]);
  if (value === "" || value === null) s.words.delete(key);
  else s.words.set(key, value === true ? "" : value);
  replace(s);
}

// replace makes s the selected strategy. A name that a preset has given says what the preset's policy is, so it goes with it.
function replace(s) {
  const before = parse(texts[selected]);
  if (s.name === before.name && given.has(texts[selected])) s.name = "";
  texts[selected] = format(s);
  $("undo").replaceChildren();
  later();
}

function listen() {
  const narrow = matchMedia("(max-width: 860px)");
  $("panel").open = !narrow.matches; // the charts first
  narrow.addEventListener("change", () => {
    if (!narrow.matches) $("panel").open = true; // there is nothing to open it with
  });
  given = new Set(defaults.presets.flatMap((p) => new URLSearchParams(p.query).getAll("s")));
  $("preset").append(element("option", {value: ""}, "–"), ...defaults.presets.map((p, i) => element("option", {value: i}, p.name)));
  for (const [f, most] of Object.entries(defaults.most)) $(f).max = most;
  $("curve").append(...Object.keys(curves).map((c) => element("option", {value: c}, c)));
  $("controls").addEventListener("submit", (e) => e.preventDefault());
  $("add").addEventListener("click", add);
  $("preset").addEventListener("change", (e) => {
    if (e.target.value === "") return;
    selected = 0;
    jitters.clear();
    show(defaults.presets[e.target.value].query, {push: true});
  });
  $("text").addEventListener("input", (e) => {
    const {name} = parse(texts[selected]);
    const kept = given.has(texts[selected]) ? "" : name;
    texts[selected] = kept ? `${kept}: ${e.target.value}` : e.target.value;
    $("name").value = kept;
    later();
  });
  $("name").addEventListener("input", (e) => replace({...parse(texts[selected]), name: e.target.value.replace(/[:=]/g, "").trim()}));
  $("curve").addEventListener("change", (e) => replace(change(parse(texts[selected]), e.target.value)));
  for (const k of ["plus", "cap"]) $(k).addEventListener("input", (e) => word(k, e.target.value.trim()));
  $("jitter").addEventListener("change", (e) => word("jitter", e.target.value === "none" ? "" : e.target.value));
  $("place").addEventListener("change", (e) => word("place", e.target.value === "one-process" ? "" : e.target.value));
  $("tiled").addEventListener("change", (e) => {
    const s = parse(texts[selected]);
    if (e.target.checked) {
      jitters.set(selected, s.words.get("jitter"));
      s.words.delete("jitter");
      s.words.set("tiled", "");
    } else {
      s.words.delete("tiled");
      if (jitters.get(selected)) s.words.set("jitter", jitters.get(selected));
    }
    replace(s);
  });
  for (const f of fields) $(f).addEventListener("input", later);
  $("own").addEventListener("change", later);
  addEventListener("popstate", () => show(location.search.slice(1)));
}

// show shows what an address holds.
function show(search, options) {
  adopt(search);
  $("undo").replaceChildren();
  update(search, {...options, address: true});
}

// ---- the charts ------------------------------------------------------------------------------------------------------

// cell is the width of a chart in a grid of that many: the grid's columns are at least 340 wide, and 26 apart.
function cell(grid, items) {
  const width = $(grid).clientWidth;
  const columns = Math.max(1, Math.min(Math.floor((width + 26) / 366), items));
  return Math.max(260, Math.floor((width - (columns - 1) * 26) / columns));
}

const heading = (i, title, more) => element("h3", {}, swatch(i), title, element("small", {}, more));

function figure(i, s, more, ...parts) {
  return element("figure", {"data-title": s.title}, heading(i, s.title, more), s.note ? element("p", {class: "note"}, s.note) : null, ...parts);
}

const draws = {
  herd(h) {
    table(h);
    golines(h);
    const width = cell("herd", h.strategies.length);
    $("herd-note").textContent = `${h.jobs} jobs fail together at time 0. Each dot is a retry, its color the number of it, from violet to yellow; a faint line joins the retries of one job${
      h.strategies.some((s) => s.jobs && s.jobs.length < h.jobs) ? "; of many jobs only some are drawn" : ""}. Below: how many come in each bin.`;
    $("herd").replaceChildren(...h.strategies.map((s, i) => s.times
      ? figure(i, s, `${s.figures[1].text} × the mean at the peak, ${s.figures[2].text} dead; bins of ${s.binLabel}`, charts.dots(s, h.jobs, width), charts.load(s, width))
      : figure(i, s, "")));
    $("waits").replaceChildren(...h.strategies.map((s, i) => s.times
      ? figure(i, s, `mean CV ${s.figures[3].text}`, charts.waits(s, h.jobs, width))
      : figure(i, s, "")));
  },
  contention(c) {
    const width = cell("contention", 2);
    $("contention-note").textContent = `Each message takes |normal(10, 2)| ms; a write succeeds if nobody has written since its read. Means of ${c.runs} runs.`;
    $("legend").replaceChildren(...c.strategies.map((s, i) => element("span", {}, swatch(i), s.title, s.note ? element("small", {class: "note"}, s.note) : null)));
    $("contention").replaceChildren(
      element("figure", {}, element("h3", {}, "Write calls"), charts.contention(c, "calls", width)),
      element("figure", {}, element("h3", {}, "Time until all have written", element("small", {}, "logarithmic")), charts.contention(c, "time", width)));
  },
  outage(o) {
    const width = cell("outage", o.strategies.length);
    $("outage-note").textContent = `${o.clients} clients, a server that is down for ${o.downLabel}. Grey: attempts; blue: those that are served.`;
    $("outage").replaceChildren(...o.strategies.map((s, i) => s.attempts
      ? figure(i, s, `${s.summary}; bins of ${s.binLabel}`, charts.outage(o, s, width),
        element("figcaption", {}, s.figures.slice(1).map((f) => `${f.name} ${f.text}`).join(" · ")))
      : figure(i, s, "")));
  },
};

// draw draws the numbers, else those that are shown already.
function draw(kind, numbers = shown[kind]) {
  shown[kind] = numbers;
  if (numbers) draws[kind](numbers);
}

function table(h) {
  const all = h.strategies.filter((s) => s.figures);
  $("figures-note").textContent = all.length ? `Means of ${h.runs} ${h.runs === 1 ? "run" : "runs"}. Peak: the most retries within ${h.peakWindow}. Dead time: the share of windows of ${h.deadWindow} in which nothing comes.` : "";
  const columns = all[0]?.figures ?? [];
  $("figures").replaceChildren(
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "strategy"), ...columns.map((f) => element("th", {scope: "col", title: f.help}, f.name)))),
    element("tbody", {}, ...h.strategies.map((s, i) => element("tr", {},
      element("th", {scope: "row", title: s.text}, swatch(i), s.title),
      ...(s.figures ?? []).map((f) => element("td", {}, f.text))))));
}

function golines(h) {
  $("golines").replaceChildren(...h.strategies.map((s, i) => element("div", {class: "goline"},
    swatch(i), element("code", {tabindex: "0", "aria-label": `Go for ${s.title}`}, s.go),
    element("button", {type: "button", "aria-label": `Copy the line for ${s.title}`, onclick: (e) => copy(e.currentTarget, s.go)}, "Copy"))));
}

// say has a screen reader say it.
function say(text) {
  $("said").textContent = "";
  setTimeout(() => ($("said").textContent = text), 50);
}

async function copy(button, line) {
  try {
    await navigator.clipboard.writeText(line);
    button.textContent = "Copied";
    say("The line is copied.");
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Selected";
    say("The line is selected, to be copied.");
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

for (const b of document.querySelectorAll("button.save")) {
  b.addEventListener("click", () => save(b.closest("section"), `retrywhen-${b.value}.png`));
}

// ---- the beginning ---------------------------------------------------------------------------------------------------

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  for (const kind of Object.keys(shown)) draw(kind);
});

if (inside) {
  for (const e of document.querySelectorAll(".live")) e.hidden = true;
  document.querySelector(".page").classList.add("static");
  Object.assign(shown, inside);
  for (const kind of Object.keys(shown)) draw(kind);
  $("status").textContent = "A page with its numbers inside. To change them: retrywhen lab";
  document.body.dataset.drawn = "1";
} else {
  selected = Number.parseInt(location.hash.slice(1), 10) || 0;
  begin();
}

function begin() {
  stop();
  get("defaults", "").then((d) => {
    defaults = d;
    listen();
    show(location.search.slice(1));
  }, (e) => {
    busy("stale");
    again(e.message, begin);
  });
}
