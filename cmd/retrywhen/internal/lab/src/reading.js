// The values of a chart's points, for a pointer and for the keyboard.
import {element, say} from "./page.js";

// reading puts a chart into a frame that can have the focus. Points are {x, y, text}, in pixels. With along only their
// position on the x axis counts. picks, if there is one, is called with the point that was pressed.
export function reading(svg, label, points, along, picks) {
  const tip = element("div", {class: "tip", hidden: true});
  const mark = element("div", {class: "mark", hidden: true});
  const frame = element("div", {class: "chart", role: "img", tabindex: "0", "aria-label": `${label}. Use the arrow keys to read it.`}, svg, mark, tip);
  const order = points.map((_, i) => i).sort((a, b) => points[a].x - points[b].x || points[b].y - points[a].y);
  let at = -1; // in order
  const show = (p) => {
    tip.hidden = mark.hidden = !p;
    if (!p) return;
    const scale = svg.clientWidth / svg.viewBox.baseVal.width || 1;
    tip.textContent = p.text;
    mark.style.translate = `${p.x * scale}px ${p.y * scale}px`;
    const x = Math.min(Math.max(p.x * scale - tip.offsetWidth / 2, 0), Math.max(frame.clientWidth - tip.offsetWidth, 0));
    const y = p.y * scale > tip.offsetHeight + 10 ? p.y * scale - tip.offsetHeight - 8 : p.y * scale + 10;
    tip.style.translate = `${x}px ${y}px`;
  };
  const nearest = (e) => {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width || 1;
    const x = (e.clientX - box.left) / scale, y = (e.clientY - box.top) / scale;
    let best = null, least = along ? Infinity : 40 ** 2;
    for (const p of points) {
      const d = along ? (p.x - x) ** 2 : (p.x - x) ** 2 + (p.y - y) ** 2;
      if (d < least) [best, least] = [p, d];
    }
    return best;
  };
  frame.addEventListener("pointermove", (e) => show(nearest(e)));
  frame.addEventListener("pointerdown", (e) => {
    const p = nearest(e);
    show(p);
    if (p) picks?.(p);
  });
  frame.addEventListener("pointerleave", () => show(null));
  frame.addEventListener("blur", () => show(null));
  frame.addEventListener("keydown", (e) => {
    const to = {ArrowRight: at + 1, ArrowLeft: Math.max(at, 0) - 1, Home: 0, End: order.length - 1, PageDown: at + 20, PageUp: at - 20}[e.key];
    if (e.key === "Escape") show(null);
    if (e.key === "Enter" && at >= 0) picks?.(points[order[at]]);
    if (to === undefined || !order.length) return;
    e.preventDefault();
    at = Math.min(Math.max(to, 0), order.length - 1);
    show(points[order[at]]);
    say(points[order[at]].text);
  });
  return frame;
}
