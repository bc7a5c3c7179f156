// The scene at the beginning of the page: a healthy server, until the visitor stalls it. The Go program has computed the
// runs of all settings, and drawn the picture of one; this script plays them. The text beside the scene switches it.
import {$, element, say} from "./page.js";
import {copy} from "./tabs.js";
import {time} from "./time.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const narrow = matchMedia("(max-width: 900px)");
const travel = 0.9; // s of a dot on its way
const busy = 9; // dots on the way of a server without a pause
const slow = 2; // s of the run in a second, before and in the stall
const recovery = 9; // s in which the rest is played

// departures returns when the dots of a way set off, each of which stands for n requests.
function departures(counts, step, n) {
  const times = [];
  let sum = 0;
  counts.forEach((c, i) => {
    for (let k = Math.ceil(sum / n); k * n < sum + c; k++) times.push((i + (k * n - sum) / c) * step);
    sum += c;
  });
  return times;
}

// film returns the times of a picture's run, and a function that draws it at one of them.
function film(figure) {
  const svg = figure.querySelector("svg"), part = (selector) => svg.querySelector(selector);
  const f = JSON.parse(svg.dataset.frames), end = f.served.length * f.step, fast = Math.max((end - f.to) / recovery, slow);
  const lanes = ["arrived", "back", "served", "vain"].map((name) => {
    const path = part(`.lane.${name}`), length = path.getTotalLength();
    const points = Array.from({length: 101}, (_, i) => path.getPointAtLength((i * length) / 100)).map((p) => `M${p.x.toFixed(1)} ${p.y.toFixed(1)}h0`);
    const times = (speed) => departures(f[name], f.step, ((f.room / f.step) * travel * speed) / busy);
    return {path, points, slow: times(slow), fast: times(fast)};
  });
  const slots = part(".slots").getAttribute("d").match(/M[^M]+/g);
  const queue = (name, from, to) => part(`.${name}`).setAttribute("d", slots.slice(from, to).join(""));
  const fill = (name, n) => (part(`rect.${name}`).style.transform = `scaleY(${Math.min(n / f.room, 1)})`);
  const figures = (name, text) => (svg.querySelector(`[data-of=${name}]`).textContent = text);
  const draw = (t) => {
    const i = Math.min(Math.floor(t / f.step), f.served.length - 1), speed = t > f.to ? "fast" : "slow", way = travel * (t > f.to ? fast : slow);
    for (const lane of lanes) {
      lane.path.classList.remove("idle");
      lane.path.style.strokeDasharray = "none";
      lane.path.setAttribute("d", lane[speed].filter((d) => d <= t && d > t - way).map((d) => lane.points[Math.floor((100 * (t - d)) / way)]).join(""));
    }
    const waiting = f.left[i] + f.waiting[i];
    queue("left", 0, f.left[i]);
    queue("waiting", Math.min(f.left[i], slots.length), waiting);
    fill("vain", f.served[i] + f.vain[i]);
    fill("served", f.served[i]);
    svg.classList.toggle("stalled", f.from <= t && t < f.to);
    part(".flow").style.clipPath = `inset(0 ${100 * (1 - Math.max(t, f.from) / end)}% 0 0)`;
    figures("queue", waiting < f.rate ? waiting : `${waiting.toLocaleString("en")}, a wait of ${time(Math.round(waiting / f.rate))}`);
    figures("wasted", `${f.wasted[i]} %`);
  };
  return {from: f.from, to: f.to, end, fast, draw};
}

// player plays the picture in a figure. It is healthy, and stalls when the button is pressed.
export function player(figure, button) {
  let shot = null, next = 0, name = button.textContent, pressed = false;
  const at = (how) => {
    cancelAnimationFrame(next);
    figure.classList.toggle("before", how !== "ended");
    button.textContent = how === "stalled" ? "Stop" : how === "ended" ? `${name} again` : name;
    figure.dataset.at = how;
    shot ??= film(figure);
  };
  const ended = () => {
    at("ended");
    shot.draw(shot.end);
    say(figure.querySelector(".verdict").textContent);
  };
  const play = (time, until, done) => {
    if (still.matches) return done();
    let began = null;
    const frame = (now) => {
      began ??= now;
      const t = time((now - began) / 1000);
      if (t >= until) return done();
      shot.draw(t);
      next = requestAnimationFrame(frame);
    };
    next = requestAnimationFrame(frame);
  };
  const healthy = () => {
    at("healthy");
    const first = Math.min(travel * slow, shot.from / 2);
    shot.draw(first);
    if (!still.matches) play((s) => first + slow * s, shot.from, healthy);
  };
  const stall = () => {
    pressed = true;
    at("stalled");
    const length = (shot.to - shot.from) / slow;
    play((s) => (s < length ? shot.from + slow * s : shot.to + shot.fast * (s - length)), shot.end, ended);
  };
  button.addEventListener("click", () => (figure.dataset.at === "stalled" ? ended() : stall()));
  return {
    healthy, stall, ended,
    show(html) {
      const made = element("template");
      made.innerHTML = html;
      for (const part of ["svg", ".verdict"]) figure.querySelector(part).replaceWith(made.content.querySelector(part));
      shot = null;
    },
    rename(to) {
      name = to;
    },
    pressed: () => pressed,
    pause: () => cancelAnimationFrame(next),
  };
}

// story connects the scene with its controls and its text.
function story(section) {
  const scenes = JSON.parse($("scenes").textContent), figure = section.querySelector("figure"), p = player(figure, section.querySelector(".play"));
  const retries = section.querySelectorAll("[name=retries]"), budget = section.querySelector("[name=budget]"), queue = section.querySelector("[name=queue]");
  let shown = "";
  const key = () => {
    const n = section.querySelector("[name=retries]:checked").value;
    return `${n}${budget.checked && n !== "0" ? " budget" : ""}${queue.checked ? " queue" : ""}`;
  };
  const show = () => {
    if (key() === shown) return;
    shown = key();
    p.show(scenes[shown].html);
    if (p.pressed()) p.stall();
    else p.healthy();
  };
  section.addEventListener("change", show);
  const steps = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting || narrow.matches) continue;
      const want = e.target.dataset.key.split(" ");
      for (const r of retries) r.checked = r.value === want[0];
      budget.checked = want.includes("budget");
      queue.checked = want.includes("queue");
      show();
    }
  }, {rootMargin: "-45% 0px -45% 0px"});
  for (const s of section.querySelectorAll(".steps > section")) steps.observe(s);
  new IntersectionObserver(([e]) => {
    if (!e.isIntersecting) p.pause();
    else if (figure.dataset.at === "healthy") p.healthy();
    else if (figure.dataset.at === "stalled") p.ended();
  }).observe(section.querySelector(".stage"));
  show();
}

const opening = $("opening");
if (opening) {
  const asked = location.search.slice(1);
  opening.classList.toggle("away", asked !== "" && asked !== opening.dataset.query); // a link to a run leads to it
  opening.dataset.live = "";
  new IntersectionObserver(([e]) => opening.classList.toggle("read", e.isIntersecting), {rootMargin: "0px 0px -50% 0px"}).observe(opening);
  story(opening.querySelector(".story"));
  const copies = opening.querySelector(".copy");
  copies.addEventListener("click", () => copy(copies, opening.querySelector("pre").textContent, "The Go code"));
}
