// The text of a strategy, split into its words and joined again. The Go program parses its values.

// curves are the parameters of each curve.
export const curves = {};

// Curves that are random themselves cannot be tiled.
export const random = new Set();

// learn takes the curves that the Go program knows.
export function learn(all) {
  for (const c of all) {
    curves[c.name] = c.parameters;
    if (c.random) random.add(c.name);
  }
}

export const initial = {d: "1s", base: "1s", unit: "1s", factor: "2", degree: "1.5", exponent: "2", delays: "1s,5s,30s"};

// names are the labels of the parameters.
export const names = {d: "Delay", base: "Base", unit: "Unit", factor: "Factor", degree: "Degree", exponent: "Exponent", delays: "Delays"};

const modifiers = ["plus", "cap", "jitter", "tiled", "key", "limit"];

// parse returns {name, curve, words}; words is a Map of all words but the curve.
export function parse(text) {
  let name = "";
  const colon = text.indexOf(":");
  if (colon > 0 && !text.slice(0, colon).includes("=")) {
    name = text.slice(0, colon).trim();
    text = text.slice(colon + 1);
  }
  let curve = "";
  const words = new Map();
  for (const word of text.trim().split(/\s+/)) {
    const [key, ...value] = word.split("=");
    if (!curve && Object.hasOwn(curves, key.toLowerCase())) curve = key.toLowerCase();
    else words.set(key.toLowerCase(), value.join("="));
  }
  return {name, curve, words};
}

// format returns the text: the curve and its own words first.
export function format({name, curve, words}) {
  const own = curves[curve] ?? [];
  const order = [...own, ...modifiers, ...[...words.keys()].filter((k) => !own.includes(k) && !modifiers.includes(k))];
  const text = [curve, ...order.filter((k) => words.has(k)).map((k) => (words.get(k) === "" ? k : `${k}=${words.get(k)}`))].join(" ");
  return name ? `${name}: ${text}` : text;
}

// change returns the strategy with another curve. It keeps the values of similar parameters.
export function change(strategy, curve) {
  const words = new Map(strategy.words);
  const length = ["d", "base", "unit"].map((k) => words.get(k)).find((v) => v !== undefined);
  const shape = ["factor", "degree", "exponent"].map((k) => words.get(k)).find((v) => v !== undefined);
  for (const k of Object.keys(initial)) words.delete(k);
  for (const k of curves[curve]) {
    const kept = ["d", "base", "unit"].includes(k) ? length : k === "delays" ? undefined : shape;
    words.set(k, kept ?? initial[k] ?? "1");
  }
  if (random.has(curve)) words.delete("tiled");
  return {...strategy, curve, words};
}
