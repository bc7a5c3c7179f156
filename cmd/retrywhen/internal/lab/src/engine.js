// The source of the page's numbers: a server, or a worker that runs the same Go program as a WebAssembly module.
import {inside} from "./page.js";

export const engine = inside?.engine ?? "server";

// get returns numbers of a kind for a query. Its error has the property away if a later attempt may succeed.
export const get = engine === "worker" ? compute : request;

const away = (message) => Object.assign(new Error(message), {away: true});

async function request(kind, query, signal) {
  let response, body;
  try {
    response = await fetch(`api/${kind}?${query}`, {signal});
    body = await response.json();
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw away("The lab's server does not respond.");
  }
  if (!response.ok) throw Object.assign(new Error(body.error), {away: response.headers.has("Retry-After")});
  return body;
}

// ---- the worker ------------------------------------------------------------------------------------------------------

const patience = (kind) => (["scene", "run", "more"].includes(kind) ? 90_000 : 20_000); // ms for one computation, which usually ends earlier by its own limit
const worthwhile = 150; // ms that an abandoned computation may continue: less than the start of a new worker

let worker = null; // a promise
let compiled = null; // the module, for the next worker
let last = 0;
const waiting = new Map(); // the pending requests, by their numbers

// program is the workers' script. It is kept so that a later worker needs no network.
let program = null;
const source = async () => {
  const texts = await Promise.all(["wasm_exec.js", "worker.js"].map(async (name) => {
    const response = await fetch(name);
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return response.text();
  }));
  return URL.createObjectURL(new Blob(texts.map((t) => `${t}\n`), {type: "text/javascript"}));
};

// load starts the worker, if there is none.
export function load() {
  worker ??= start().catch((e) => {
    worker = null;
    throw e;
  });
  return worker;
}

async function start() {
  program ??= await source().catch(() => {
    throw away("The simulation program cannot be loaded.");
  });
  return new Promise((ready, failed) => {
    const w = new Worker(program);
    const lost = () => {
      const error = away("The simulation program cannot be loaded.");
      end(w);
      for (const {reject} of waiting.values()) reject(error);
      waiting.clear();
      failed(error);
    };
    w.onmessage = ({data}) => {
      if (data.module) compiled = data.module;
      if (data.ready) ready(w);
      if (data.failed) lost();
      if (data.id) {
        waiting.get(data.id)?.resolve(data.text);
        waiting.delete(data.id);
      }
    };
    w.onerror = lost;
    w.postMessage({module: compiled, address: new URL("lab.wasm.gz", location.href).href});
  });
}

function end(w) {
  w.terminate();
  worker = null;
}

// drop abandons a request. If the worker still computes it, a new worker takes over the other requests.
async function drop(w, id) {
  if (!waiting.delete(id)) return;
  if ((await worker) !== w) return;
  end(w);
  const next = waiting.size ? await load() : null;
  for (const [id, {kind, query}] of waiting) next.postMessage({id, kind, query});
}

async function compute(kind, query, signal) {
  const w = await load();
  const unwanted = () => new DOMException("the request was abandoned", "AbortError");
  if (signal?.aborted) throw unwanted();
  const id = ++last;
  const began = performance.now();
  let late = 0;
  const text = await new Promise((resolve, reject) => {
    waiting.set(id, {kind, query, resolve, reject});
    w.postMessage({id, kind, query});
    late = setTimeout(() => {
      reject(new Error("The simulation takes too long. Choose a smaller one."));
      drop(w, id);
    }, patience(kind));
    signal?.addEventListener("abort", () => {
      reject(unwanted());
      setTimeout(() => drop(w, id), Math.max(0, worthwhile - (performance.now() - began)));
    });
  }).finally(() => clearTimeout(late));
  const {result, error} = JSON.parse(text);
  if (error) throw new Error(error);
  return result;
}
