// The map of loads and stalls: its dot can be dragged, and moved with the arrow keys. The picture is the run at the dot.
import {get} from "./engine.js";
import {$, say} from "./page.js";
import {player} from "./story.js";

const section = $("map");

function connect() {
  const counts = JSON.parse(section.dataset.counts), stalls = section.dataset.stalls.split(" "), runs = Number(section.dataset.runs);
  const svg = section.querySelector("svg.map"), dot = svg.querySelector(".dot"), badges = section.querySelectorAll(".badge"), link = section.querySelector(".to-lab");
  const [left, top, width, height] = ["left", "top", "width", "height"].map((k) => Number(svg.dataset[k]));
  const rows = stalls.length, columns = counts[0][0].length;
  let row = Number(dot.dataset.row), column = Number(dot.dataset.column), timer = 0, running = null;
  const figure = section.querySelector("figure"), run = player(figure, section.querySelector(".play"));
  const chosen = () => section.querySelector("input:checked");
  const percent = (c) => Math.round((100 * (c + 1)) / (columns + 1));

  const update = () => {
    dot.setAttribute("transform", `translate(${left + (column + 0.5) * width} ${top + (rows - row - 0.5) * height})`);
    dot.querySelector(".here").setAttribute("transform", `translate(${column > columns / 2 ? -66 : 66} 0)`);
    dot.setAttribute("aria-valuenow", row * columns + column);
    const n = parseInt(counts[chosen().value][row][column]);
    dot.setAttribute("aria-valuetext", `${percent(column)} % load, a stall of ${stalls[row]}: recovers within a minute in ${n} of ${runs} runs`);
    badges.forEach((b, i) => {
      const lost = counts[i][row].findIndex((n) => parseInt(n) < runs), safe = lost < 0 ? columns : lost;
      b.textContent = safe ? `up to ${percent(safe - 1)} %` : "none of these";
    });
    section.querySelector(".stall-length").textContent = stalls[row];
    run.rename(`Stall it for ${stalls[row]}`);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = new URLSearchParams({s: chosen().dataset.policy, load: percent(column) * Number(section.dataset.rate) / 100, stall: stalls[row]}).toString();
      link.href = `?${query}`;
      show(query);
    }, 120);
  };
  const show = async (query) => {
    running?.abort();
    const mine = (running = new AbortController());
    figure.classList.add("waits");
    try {
      const {html, verdict} = await get("run", query, mine.signal);
      if (running !== mine) return;
      run.show(html);
      run.ended();
      say(verdict);
    } catch (e) {
      if (running === mine && e.name !== "AbortError") figure.querySelector(".verdict").textContent = e.message;
    } finally {
      if (running === mine) figure.classList.remove("waits");
    }
  };
  const move = (r, c) => {
    r = Math.min(Math.max(r, 0), rows - 1);
    c = Math.min(Math.max(c, 0), columns - 1);
    if (r === row && c === column) return;
    [row, column] = [r, c];
    update();
  };
  const point = (e) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    move(rows - 1 - Math.floor(((e.clientY - box.top) * scale - top) / height), Math.floor(((e.clientX - box.left) * scale - left) / width));
  };
  svg.addEventListener("pointerdown", (e) => {
    svg.setPointerCapture(e.pointerId);
    point(e);
    dot.focus();
    e.preventDefault();
  });
  svg.addEventListener("pointermove", (e) => svg.hasPointerCapture(e.pointerId) && point(e));
  dot.addEventListener("keydown", (e) => {
    const by = {ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageUp: [3, 0], PageDown: [-3, 0], Home: [0, -columns], End: [0, columns]}[e.key];
    if (!by) return;
    e.preventDefault();
    move(row + by[0], column + by[1]);
  });
  section.addEventListener("change", update);
}

if (section) connect();
