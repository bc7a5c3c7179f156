// A section's charts as one picture, drawn by the browser.

const scale = 2; // dots for each pixel

// save saves the charts of a section, with their titles, as a PNG of that name.
export async function save(section, name) {
  const ground = getComputedStyle(document.body);
  const parts = [...section.querySelectorAll("h3, .legend > span, figcaption, figure svg")].filter((e) => e.getClientRects().length);
  const boxes = parts.map((e) => e.getBoundingClientRect());
  const margin = 12;
  const left = Math.min(...boxes.map((b) => b.left)) - margin;
  const top = Math.min(...boxes.map((b) => b.top)) - margin;
  const canvas = document.createElement("canvas");
  canvas.width = (Math.max(...boxes.map((b) => b.right)) - left + margin) * scale;
  canvas.height = (Math.max(...boxes.map((b) => b.bottom)) - top + margin) * scale;
  const g = canvas.getContext("2d");
  g.fillStyle = ground.backgroundColor;
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.scale(scale, scale);
  g.translate(-left, -top);
  g.textBaseline = "middle";
  for (const [i, e] of parts.entries()) {
    const box = boxes[i];
    if (e instanceof SVGElement) g.drawImage(await image(e), box.left, box.top, box.width, box.height);
    else write(g, e);
  }
  const a = document.createElement("a");
  a.download = name;
  a.href = canvas.toDataURL("image/png");
  a.click();
}

// image returns the chart as a picture of its own: without the page's variables and fonts.
async function image(svg) {
  const page = getComputedStyle(svg);
  const copy = svg.cloneNode(true);
  copy.style.fontFamily = page.fontFamily;
  copy.style.color = page.color;
  const text = new XMLSerializer().serializeToString(copy).replace(/var\((--\w+)\)/g, (_, name) => page.getPropertyValue(name));
  const i = new Image();
  i.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await i.decode();
  return i;
}

// write writes the texts of an element where they stand, each on one line, and its colored dot.
function write(g, element) {
  const dot = element.querySelector(".swatch");
  if (dot) {
    const b = dot.getBoundingClientRect();
    g.fillStyle = getComputedStyle(dot).backgroundColor;
    g.beginPath();
    g.arc(b.left + b.width / 2, b.top + b.height / 2, b.width / 2, 0, 2 * Math.PI);
    g.fill();
  }
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const range = document.createRange();
    range.selectNode(node);
    const b = range.getBoundingClientRect();
    const s = getComputedStyle(node.parentElement);
    g.fillStyle = s.color;
    g.font = `${s.fontWeight} ${s.fontSize} ${s.fontFamily}`;
    g.fillText(node.data, b.left, b.top + b.height / 2, b.width + 1);
  }
}
