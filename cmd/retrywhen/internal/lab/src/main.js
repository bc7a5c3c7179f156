import {adopt, apply, listen, problems, query, selected} from "./controls.js";
import {engine, get, load} from "./engine.js";
import {$, element, inside, say} from "./page.js";
import "./map.js";
import {download, savePNG, saveSVG} from "./picture.js";
import {copy, draws, golines} from "./tabs.js";

const everywhere = ["recover", "choose", "outage", "picture"];
const tabs = engine === "none" ? Object.keys(inside.numbers) : everywhere.slice(0, -1);
const shown = {}; // the numbers, by tab
const shownFor = {}; // their queries, by tab
let defaults = null; // the first values of the controls, and the presets of the tabs
let state = null; // the page's state, as the Go program has parsed it
let tab = tabs[0];

// ---- requests --------------------------------------------------------------------------------------------------------

let running = null;
let timer = 0;
let failures = 0; // of the engine, in a row

// busy shows whether the charts are up to date: "" they are, "pending" new ones are being computed, "stale" they are not.
function busy(how) {
  document.body.classList.toggle("pending", how === "pending");
  document.body.classList.toggle("stale", how === "stale");
  $("charts").setAttribute("aria-busy", String(how === "pending"));
}

// stop cancels the running request, so that old numbers do not overwrite new input.
function stop() {
  clearTimeout(timer);
  running?.abort();
  running = null;
  busy("pending");
}

// again retries after 1 s, 2 s, 4 s … up to 30 s, with equal jitter.
function again(message, attempt) {
  const wait = Math.min(1000 * 2 ** failures++, 30_000) * (0.5 + Math.random() / 2);
  const button = element("button", {type: "button", onclick: () => (stop(), attempt())}, "Try now");
  status(`${message} ${shown[tab] ? "The charts show the previous choices. " : ""}The next attempt is in ${Math.max(1, Math.round(wait / 1000))} s. `, button);
  timer = setTimeout(attempt, wait);
}

// status shows an error of the whole page.
function status(...parts) {
  $("status").replaceChildren(...parts);
  $("status").classList.toggle("bad", parts.some((p) => p));
}

// entered updates the page after a pause in the input, or now.
function entered({now = false} = {}) {
  stop();
  const search = () => {
    const q = query();
    q.set("tab", tab);
    return q.toString();
  };
  if (now) update(search());
  else timer = setTimeout(() => update(search()), 150);
}

// apart returns a query without the parameters that change no number.
function apart(search) {
  const q = new URLSearchParams(search);
  for (const name of ["tab", "y"]) q.delete(name);
  return q.toString();
}

// update gets the numbers of a query and draws them. The old charts stay until then. It ignores invalid parts of an
// address. If a control is invalid, it shows that there and draws nothing.
async function update(search, {push = false, address = false} = {}) {
  stop();
  const to = new URLSearchParams(search).get("tab") ?? "recover";
  if (to !== tab && tabs.includes(to)) turn(to);
  const mine = (running = new AbortController());
  let left = "pending";
  const slow = setTimeout(() => running === mine && status(state ? "Simulating …" : "The simulation program is loading …"), shown[tab] ? 500 : 0);
  try {
    const next = await get("state", search, mine.signal);
    if (running !== mine) return;
    failures = 0;
    if (!address) {
      const {any, others} = problems(next.problems ?? []);
      status(others);
      if (any) {
        left = "stale";
        return;
      }
    }
    const url = `${location.pathname}?${next.query}${selected ? `#${selected}` : ""}`;
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    accept(next);
    problems([]);
    const ignored = next.problems ? (`The address has invalid parts: ${next.problems.map((p) => p.message).join("; ")}. The page ignores them.`) : "";
    const key = apart(next.query);
    if (shownFor[tab] !== key) {
      const numbers = await get(tab, next.query, mine.signal);
      if (running !== mine) return;
      shown[tab] = numbers;
      shownFor[tab] = key;
    }
    draw();
    clearTimeout(slow);
    status(ignored);
    left = "";
  } catch (e) {
    if (running !== mine) return;
    left = "stale";
    if (e.away) again(e.message, () => update(search, {push, address}));
    else status(e.message);
  } finally {
    clearTimeout(slow);
    if (running === mine) {
      busy(left);
      document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
    }
  }
}

// accept shows a state in the controls.
function accept(next) {
  state = next;
  turn(state.fields.tab);
  golines(state.strategies);
  if (engine === "none") return;
  apply(state);
}

// draw draws the numbers of the open tab.
function draw() {
  document.body.classList.toggle("unknown", !shown[tab]);
  if (shown[tab]) draws[tab]?.(shown[tab], state.fields.y === "own", state);
}

// goOn computes the open tab's numbers again, for as long as they take.
async function goOn() {
  stop();
  const mine = (running = new AbortController()), key = shownFor[tab];
  status("Simulating …");
  try {
    const numbers = await get("more", state.query, mine.signal);
    if (running !== mine || shownFor[tab] !== key) return;
    shown[tab] = numbers;
    draw();
    status("");
  } catch (e) {
    if (running === mine) status(e.message);
  } finally {
    if (running === mine) busy("");
  }
}

// show shows the state of an address.
function show(search, {push = false, which = push ? 0 : selected} = {}) {
  adopt(search, which);
  update(search, {push, address: true});
}

// ---- the tabs --------------------------------------------------------------------------------------------------------

// turn opens a tab.
function turn(to) {
  const other = to !== tab;
  tab = to;
  for (const t of everywhere) {
    const open = t === tab;
    $(`tab-${t}`).hidden = !open;
    $(`to-${t}`).setAttribute("aria-selected", String(open));
    $(`to-${t}`).tabIndex = open ? 0 : -1;
    $(`to-${t}`).hidden = !tabs.includes(t);
  }
  document.querySelector(".page").classList.toggle("alone", tab === "choose"); // it has its own policies
  document.querySelector(".tabs").hidden = tabs.length < 2;
  for (const e of $("bar").querySelectorAll("[data-tabs]")) e.hidden = !e.dataset.tabs.split(" ").includes(tab);
  if (other) document.querySelector(".tabs").scrollLeft = $(`to-${tab}`).offsetLeft - 40;
  document.body.classList.toggle("unknown", !shown[tab]);
}

// leave opens another tab: with the tab's first preset, unless the user has changed something.
function leave(to) {
  if (engine === "none") {
    turn(to);
    draw();
    return;
  }
  const untouched = !state || defaults.presets.some((p) => apart(p.query) === apart(state.query));
  const preset = defaults.presets.find((p) => p.tab === to);
  if (untouched && preset) {
    show(preset.query, {push: true});
    return;
  }
  const q = new URLSearchParams(state.query);
  q.set("tab", to);
  update(q.toString(), {push: true});
}

for (const [i, t] of tabs.entries()) {
  $(`to-${t}`).addEventListener("click", () => leave(t));
  $(`to-${t}`).addEventListener("keydown", (e) => {
    const to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1}[e.key];
    if (to === undefined) return;
    const next = $(`to-${tabs[(to + tabs.length) % tabs.length]}`);
    next.focus();
    next.click();
  });
}

for (const fold of document.querySelectorAll("details.more")) fold.addEventListener("toggle", () => fold.open && state && draw());

// ---- sharing ---------------------------------------------------------------------------------------------------------

// page returns the page as one file with the numbers of all tabs.
async function page() {
  const html = await (await fetch("alone.html")).text(), numbers = {};
  for (const t of tabs) numbers[t] = shownFor[t] === apart(state.query) ? shown[t] : await get(t, state.query);
  const data = JSON.stringify({engine: "none", defaults, state, numbers}).replaceAll("<", "\\u003c");
  return html.replace(/id="data"[^>]*>/, (tag) => tag + data);
}

function shares() {
  $("copy-link").addEventListener("click", (e) => {
    if (state.query.length > defaults.most.query) status(`The link would have ${state.query.length} bytes. Want at most ${defaults.most.query}: fewer or shorter policies.`);
    else copy(e.currentTarget, `${location.origin}${location.pathname}?${state.query}`, "The link");
  });
  $("copy-command").addEventListener("click", (e) => copy(e.currentTarget, state.command, "The command"));
  $("copy-go").addEventListener("click", (e) => copy(e.currentTarget, shown[tab]?.file ?? state.go, "The Go code"));
  $("download").addEventListener("click", async () => {
    say("Saving the page.");
    try {
      download(new Blob([await page()], {type: "text/html"}), "retrywhen-lab.html");
      say("The page is saved.");
    } catch (e) {
      status(e.message);
    }
  });
  const charts = () => $(`tab-${tab}`);
  $("save-svg").addEventListener("click", () => saveSVG(charts(), `retrywhen-${tab}`));
  $("save-png").addEventListener("click", () => savePNG(charts(), `retrywhen-${tab}`));
  addEventListener("click", (e) => {
    if (!$("share").contains(e.target)) $("share").open = false;
  });
  $("share").addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    $("share").open = false;
    $("share").querySelector("summary").focus();
  });
}

// ---- the beginning ---------------------------------------------------------------------------------------------------

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width || !state) return;
  width = innerWidth;
  draw();
});

// begin connects the controls and shows the state of the address.
function begin(d) {
  defaults = d;
  listen(defaults, entered);
  shares();
  $("restart").addEventListener("click", () => show(defaults.presets.find((p) => p.tab === tab).query, {push: true}));
  addEventListener("click", (e) => {
    const link = e.target.closest?.("a.goes");
    if (link) {
      e.preventDefault();
      show(link.search.slice(1), {push: true});
    }
    if (e.target.id === "go-on") goOn();
  });
  addEventListener("popstate", () => show(location.search.slice(1)));
  if (inside && location.search.length < 2) first();
  else show(location.search.slice(1), {which: Number.parseInt(location.hash.slice(1), 10) || 0});
}

// first draws the numbers in the page.
function first() {
  for (const [t, numbers] of Object.entries(inside.numbers)) {
    shown[t] = numbers;
    shownFor[t] = apart((defaults.presets.find((p) => p.tab === t) ?? inside.state).query);
  }
  accept(inside.state);
  draw();
  busy("");
  document.body.dataset.drawn = "1";
  performance.mark("drawn");
}

// fetchDefaults gets the defaults from the server, and retries if it does not respond.
function fetchDefaults() {
  stop();
  get("defaults", "").then(begin, (e) => {
    busy("stale");
    again(e.message, fetchDefaults);
  });
}

if (engine === "none") {
  for (const e of document.querySelectorAll(".live")) e.hidden = true;
  document.querySelector(".page").classList.add("static");
  defaults = inside.defaults;
  $("made").textContent = inside.state.command;
  $("made").hidden = false;
  first();
  status("");
} else if (inside) {
  begin(inside.defaults);
  (window.requestIdleCallback ?? setTimeout)(() => load().catch(() => {})); // after the first charts
} else {
  fetchDefaults();
}
