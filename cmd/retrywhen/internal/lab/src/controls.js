// The controls: the strategies, the editor of one of them, and the simulation's parameters.
import {series} from "./charts.js";
import {$, element} from "./page.js";
import {change, curves, format, initial, learn, names, parse, random} from "./policy.js";

// The parameters of an address that have their own control.
export const fields = [
  "load", "rate", "stall", "patience", "failures", "queue", "watch", "seed", "affected", "fleet", "down", "capacity", "timeout", "outages", "served", "wait",
];
const own = ["plus", "cap", "limit", "budget", "processes"]; // the words that have an input of their own

export const swatch = (i) => element("span", {class: "swatch", style: `background:${series(i)}`, "aria-hidden": "true"});

export let texts = []; // of the strategies
export let selected = 0;
let described = []; // the strategies, as the Go program has parsed them
let defaults = null;
let given = new Set(); // the texts of presets
const jitters = new Map(); // the jitters that tiled has replaced, by the strategy's index
let changed = () => {}; // called after each input; with now if no more input follows

// listen connects the controls.
export function listen(d, onChange) {
  defaults = d;
  changed = onChange;
  learn(d.curves);
  given = new Set(defaults.presets.flatMap((p) => new URLSearchParams(p.query).getAll("s")));
  const narrow = matchMedia("(max-width: 860px)");
  $("panel").open = !narrow.matches; // the charts first
  narrow.addEventListener("change", () => {
    if (!narrow.matches) $("panel").open = true; // a wide page has no button to open it
  });
  for (const [f, most] of Object.entries(defaults.most)) if ($(f)) $(f).max = most;
  $("curve").append(...Object.keys(curves).map((c) => element("option", {value: c}, c)));
  for (const form of ["controls", "bar"]) $(form).addEventListener("submit", (e) => e.preventDefault());
  $("add").addEventListener("click", () => add());
  $("today").append(...defaults.today.map((t) => element("button", {type: "button", onclick: () => texts.includes(t) || add(t)}, parse(t).name)));
  $("text").addEventListener("input", (e) => {
    const {name} = parse(texts[selected]);
    const kept = given.has(texts[selected]) ? fresh(selected + 1) : name;
    texts[selected] = kept ? `${kept}: ${e.target.value}` : e.target.value;
    $("name").value = kept;
    changed();
  });
  $("text").addEventListener("paste", (e) => {
    const pasted = textsIn(e.clipboardData.getData("text"));
    if (!pasted.length) return;
    e.preventDefault();
    texts = [...texts.slice(0, selected), ...pasted, ...texts.slice(selected + 1)].filter((t, i, all) => all.indexOf(t) === i).slice(0, 8);
    strategies();
    changed({now: true});
  });
  $("name").addEventListener("input", (e) => replace({...parse(texts[selected]), name: e.target.value.replace(/[:=]/g, "").trim()}));
  $("curve").addEventListener("change", (e) => replace(change(parse(texts[selected]), e.target.value)));
  for (const k of own) $(k).addEventListener("input", (e) => word(k, e.target.value.trim()));
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
  for (const f of fields) $(f).addEventListener("input", () => changed());
  $("own-y").addEventListener("change", () => changed());
}

// textsIn returns the texts of the policies in what the page or the command has written: in Go code they are in its
// comments, and retrywhen measure writes a line "policy: TEXT".
function textsIn(written) {
  return [...written.matchAll(/^(?:\/\/ (.+)\n+(?:var|func) |policy: (.+))/gm)].map((m) => m[1] ?? m[2].trim()).filter((t) => parse(t).curve);
}

// query returns the query of the controls' values.
export function query() {
  const q = new URLSearchParams();
  for (const t of texts) q.append("s", t);
  for (const f of fields) if ($(f).value.trim() !== "") q.set(f, $(f).value.trim());
  q.set("y", $("own-y").checked ? "own" : "shared");
  return q;
}

const unset = (f, value) => ["served", "wait"].includes(f) && value === "0s"; // no target

// adopt puts the values of an address into the controls.
export function adopt(search, which = selected) {
  const q = new URLSearchParams(search);
  const first = defaults.presets.find((p) => p.tab === q.get("tab")) ?? defaults.presets[0];
  texts = q.has("s") ? q.getAll("s") : new URLSearchParams(first.query).getAll("s");
  described = [];
  selected = which;
  jitters.clear();
  $("undo").replaceChildren();
  for (const f of fields) {
    const value = q.get(f) ?? first.fields[f];
    $(f).value = unset(f, value) ? "" : value;
  }
  $("own-y").checked = (q.get("y") ?? first.fields.y) === "own";
  strategies();
}

// apply puts the parsed values into the controls, except for the one with the focus.
export function apply(state) {
  texts = state.strategies.map((s) => s.text);
  described = state.strategies;
  selected = Math.min(selected, Math.max(texts.length - 1, 0));
  for (const f of fields) put(f, unset(f, state.fields[f]) ? "" : state.fields[f]);
  $("own-y").checked = state.fields.y === "own";
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

// list shows the strategies, with the selected one.
function list() {
  const focused = document.activeElement?.id;
  $("strategies").replaceChildren(...texts.map((text, i) => {
    const title = parse(text).name || text;
    return element("div", {class: "strategy"},
      element("label", {for: `strategy-${i}`},
        element("input", {type: "radio", name: "strategy", id: `strategy-${i}`, checked: i === selected, onchange: () => choose(i)}),
        swatch(i), element("span", {title: text}, title)),
      texts.length > 1 ? element("button", {type: "button", id: `remove-${i}`, "aria-label": `Remove ${title}`, onclick: () => remove(i)}, "✕") : null);
  }));
  for (const b of [$("add"), ...$("today").querySelectorAll("button")]) b.disabled = texts.length >= 8;
  if (/^(strategy|remove)-/.test(focused ?? "")) ($(focused) ?? $("add")).focus();
}

function choose(i) {
  selected = i;
  history.replaceState(null, "", `${location.pathname}${location.search}${i ? `#${i}` : ""}`);
  problems([]);
  strategies();
}

function remove(i) {
  const before = [[...texts], selected];
  const [text] = texts.splice(i, 1);
  if (selected >= i) selected = Math.max(selected - 1, 0);
  described = [];
  strategies();
  const undo = () => {
    [texts, selected] = before;
    described = [];
    $("undo").replaceChildren();
    strategies();
    $(`strategy-${i}`)?.focus();
    changed({now: true});
  };
  $("undo").replaceChildren(`“${parse(text).name || text}” is removed. `, element("button", {type: "button", onclick: undo}, "Undo"));
  changed({now: true});
}

// fresh returns a name that no strategy has, with a number from n on.
function fresh(n) {
  const taken = new Set(texts.map((t) => parse(t).name));
  while (taken.has(`strategy ${n}`)) n++;
  return `strategy ${n}`;
}

// add adds a text, or a copy of the selected strategy with another name.
function add(text) {
  texts.push(text ?? format({...parse(texts[selected] ?? "exponential base=1s factor=2"), name: fresh(texts.length + 1)}));
  selected = texts.length - 1;
  strategies();
  changed({now: true});
}

// editor shows the selected strategy; set puts a value into a control.
function editor(set) {
  const s = parse(texts[selected] ?? "");
  $("formula").textContent = described[selected]?.text === texts[selected] ? described[selected]?.formula ?? "" : "";
  set("text", format({...s, name: ""}));
  set("name", s.name);
  set("curve", s.curve);
  const parameters = curves[s.curve] ?? [];
  const have = [...$("params").querySelectorAll("input")].map((i) => i.name).join();
  if (have !== parameters.join()) {
    $("params").replaceChildren(...parameters.map((k) => element("label", {for: `p-${k}`}, `${names[k] ?? k} `,
      element("input", {id: `p-${k}`, name: k, spellcheck: "false", oninput: (e) => word(k, e.target.value.trim())}))));
  }
  for (const k of parameters) set(`p-${k}`, s.words.get(k) ?? initial[k] ?? "");
  for (const k of own) set(k, s.words.get(k) ?? "");
  set("place", s.words.get("place") ?? "one-process");
  const jitter = s.words.get("jitter") ?? "none";
  const options = new Set(["none", "default", "full", "equal", "deviation:0.5", "uniform:0.5:1.5", jitter]);
  $("jitter").replaceChildren(...[...options].map((j) => element("option", {value: j}, j === "default" ? "default (±15 %)" : j)));
  $("jitter").value = jitter;
  $("tiled").checked = s.words.has("tiled");
  $("tiled").disabled = random.has(s.curve);
  $("jitter").disabled = s.words.has("tiled");
}

// word sets or removes a word of the selected strategy.
function word(key, value) {
  const s = parse(texts[selected]);
  if (value === "" || value === null) s.words.delete(key);
  else s.words.set(key, value === true ? "" : value);
  replace(s);
}

// replace replaces the selected strategy by s. The name of a preset's policy describes that policy: another one takes its
// place.
function replace(s) {
  const before = parse(texts[selected]);
  if (s.name === before.name && given.has(texts[selected])) s.name = fresh(selected + 1);
  texts[selected] = format(s);
  $("undo").replaceChildren();
  changed();
}

// problems shows each problem next to its control. It returns the problems without a control, and whether there is any
// problem.
export function problems(all) {
  const wrong = all.filter((p) => !p.unknown);
  for (const e of document.querySelectorAll("[aria-invalid]")) e.removeAttribute("aria-invalid");
  const policies = wrong.filter((p) => p.parameter === "s");
  if (policies.length && !policies.some((p) => (p.strategy ?? 0) === selected)) {
    selected = policies[0].strategy ?? 0; // the one to correct
    strategies();
  }
  $("error").textContent = policies.filter((p) => (p.strategy ?? 0) === selected).map((p) => p.message).join("; ");
  for (const p of wrong) mark(p.parameter === "s" ? control(p.word) : $(p.parameter));
  return {any: wrong.length > 0, others: wrong.filter((p) => p.parameter !== "s").map((p) => p.message).join("; ")};
}

// mark shows that a control is invalid.
function mark(e) {
  e?.setAttribute("aria-invalid", "true");
  const folded = e?.closest("details.rest");
  if (folded) folded.open = true;
}

// control returns the control of a word of the selected strategy.
function control(word) {
  const key = (word ?? "").split("=")[0].toLowerCase();
  return $(`p-${key}`) ?? ([...own, "jitter", "place"].includes(key) ? $(key) : $("text"));
}
