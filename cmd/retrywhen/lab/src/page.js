// What the modules of the page have in common: its elements, and what is said aloud.

export const $ = (id) => document.getElementById(id);

// element makes an element with attributes and children.
export function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

// say has a screen reader say it.
export function say(text) {
  $("said").textContent = "";
  setTimeout(() => ($("said").textContent = text), 50);
}

// inside is what the page has inside of it, see page.go; a page of a server has nothing.
export const inside = JSON.parse($("data").textContent.trim() || "null");
