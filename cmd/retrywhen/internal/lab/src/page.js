// Functions of all modules of the page.

export const $ = (id) => document.getElementById(id);

// element returns a new element with attributes and children.
export function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== false && v != null) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

export const ns = "http://www.w3.org/2000/svg";

// make returns a new element of a picture.
export function make(tag, attributes, content) {
  const e = document.createElementNS(ns, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (content) e.textContent = content;
  return e;
}

// say announces a text to screen readers.
export function say(text) {
  $("said").textContent = "";
  setTimeout(() => ($("said").textContent = text), 50);
}

// inside is the data in the page, see page.go; a server's page has none.
export const inside = JSON.parse($("data").textContent.trim() || "null");
