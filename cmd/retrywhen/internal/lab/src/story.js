// The story at the beginning of the page. The Go program has drawn its pictures at the end of their runs; this script
// plays them, and gets others when a control is used.
import {get} from "./engine.js";
import {$, say} from "./page.js";
import {copy} from "./tabs.js";
import {time} from "./time.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");
const travel = 0.9; // s of a dot on its way
const busy = 9; // dots on the way of a server without a pause
const watches = ["5m", "10m", "20m"]; // of a run that gets more time

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

// film returns the length of a picture's run in seconds, and a function that draws it at a time.
function film(figure) {
  const svg = figure.querySelector("svg"), part = (selector) => svg.querySelector(selector);
  const f = JSON.parse(svg.dataset.frames), end = f.served.length * f.step;
  const speed = end / Math.min(8 + end / 30, 16);
  const lanes = ["arrived", "back", "served", "vain"].map((name) => {
    const path = part(`.lane.${name}`), length = path.getTotalLength();
    const points = Array.from({length: 101}, (_, i) => path.getPointAtLength((i * length) / 100)).map((p) => `M${p.x.toFixed(1)} ${p.y.toFixed(1)}h0`);
    return {path, points, times: departures(f[name], f.step, ((f.room / f.step) * travel * speed) / busy)};
  });
  const slots = part(".slots").getAttribute("d").match(/M[^M]+/g);
  const queue = (name, from, to) => part(`.${name}`).setAttribute("d", slots.slice(from, to).join(""));
  const fill = (name, n) => (part(`rect.${name}`).style.transform = `scaleY(${Math.min(n / f.room, 1)})`);
  const figures = (name, text) => (figure.querySelector(`[data-of=${name}]`).textContent = text);
  const draw = (t) => {
    const i = Math.min(Math.floor(t / f.step), f.served.length - 1);
    for (const {path, points, times} of lanes) {
      const way = travel * speed;
      path.classList.remove("idle");
      path.style.strokeDasharray = "none";
      path.setAttribute("d", times.filter((d) => d <= t && d > t - way).map((d) => points[Math.floor((100 * (t - d)) / way)]).join(""));
    }
    const left = Math.ceil(f.left[i] / f.dot);
    queue("left", 0, left);
    queue("waiting", left, Math.ceil((f.left[i] + f.waiting[i]) / f.dot));
    fill("vain", f.served[i] + f.vain[i]);
    fill("served", f.served[i]);
    svg.classList.toggle("stalled", f.from <= t && t < f.to);
    part(".flow").style.clipPath = `inset(0 ${100 * (1 - t / end)}% 0 0)`;
    figures("clock", time(Math.round(t)));
    figures("queue", f.left[i] + f.waiting[i]);
    figures("wasted", `${f.wasted[i]} %`);
  };
  return {end, speed, draw};
}

// screen connects a screen's buttons with its picture. It returns a function that shows the run of a query, and one that
// names the button.
export function screen(section, kind = "scene") {
  const figure = section.querySelector("figure"), button = section.querySelector(".play"), longer = section.querySelector(".longer");
  const headline = kind === "scene" && section.querySelector("h2"), title = headline?.textContent;
  // The verdict takes the headline's place when the run has ended.
  const head = (verdict) => {
    if (!headline) return;
    headline.textContent = verdict?.textContent ?? title;
    headline.className = verdict?.className ?? "";
    section.classList.toggle("ended", Boolean(verdict));
  };
  let name = button.textContent;
  let shot = null, next = 0, running = null, played = false;
  const stop = () => {
    if (!figure.classList.contains("playing")) return;
    cancelAnimationFrame(next);
    figure.classList.remove("playing");
    button.textContent = name;
    shot.draw(shot.end);
    head(figure.querySelector(".verdict"));
  };
  const play = (from = 0) => {
    stop();
    played = true;
    head();
    shot ??= film(figure);
    figure.classList.add("playing");
    button.textContent = "Stop";
    let began = null;
    const frame = (now) => {
      began ??= now;
      const t = from + ((now - began) / 1000) * shot.speed;
      if (t >= shot.end) return stop();
      shot.draw(t);
      next = requestAnimationFrame(frame);
    };
    next = requestAnimationFrame(frame);
  };
  const show = async (query, {from = 0, plays = true} = {}) => {
    stop();
    running?.abort();
    const mine = (running = new AbortController());
    figure.classList.add("waits");
    try {
      const {html, verdict} = await get(kind, query, mine.signal);
      if (running !== mine) return;
      figure.innerHTML = html;
      figure.dataset.query = query;
      if (longer) longer.disabled = new URLSearchParams(query).get("watch") === watches.at(-1);
      shot = null;
      say(verdict);
      if (plays && !still.matches) play(from);
      else head(figure.querySelector(".verdict"));
    } catch (e) {
      if (running === mine && e.name !== "AbortError") figure.querySelector(".verdict").textContent = e.message;
    } finally {
      if (running === mine) figure.classList.remove("waits");
    }
  };
  button.addEventListener("click", () => (figure.classList.contains("playing") ? stop() : play()));
  longer?.addEventListener("click", () => {
    const q = new URLSearchParams(figure.dataset.query);
    q.set("watch", watches[watches.indexOf(q.get("watch")) + 1]);
    shot ??= film(figure);
    show(q.toString(), {from: shot.end});
  });
  const seen = new IntersectionObserver(([e]) => {
    if (!e.isIntersecting) stop();
    else if (!played && !still.matches) play();
  }, {threshold: 0.7});
  (window.requestIdleCallback ?? setTimeout)(() => seen.observe(figure)); // after the page's first charts
  return {
    show,
    rename(to) {
      name = to;
      if (!figure.classList.contains("playing")) button.textContent = name;
    },
  };
}

const opening = $("opening");
if (opening) {
  const asked = location.search.slice(1);
  opening.classList.toggle("away", asked !== "" && asked !== opening.dataset.query); // a link to a run leads to it
  opening.dataset.live = "";
  new IntersectionObserver(([e]) => opening.classList.toggle("read", e.isIntersecting), {rootMargin: "0px 0px -50% 0px"}).observe(opening);
  for (const s of opening.querySelectorAll(".screen:has(.play):not(#map)")) {
    const {show} = screen(s);
    s.addEventListener("change", () => {
      const q = new URLSearchParams(s.querySelector("[type=radio]:checked").value), bound = s.querySelector("[name=queue]");
      if (bound?.checked) q.set("queue", bound.value);
      show(q.toString());
    });
  }
  const copies = opening.querySelector(".copy");
  copies.addEventListener("click", () => copy(copies, opening.querySelector("pre").textContent, "The Go code"));
}
