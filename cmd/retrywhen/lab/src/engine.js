// Where the page's numbers come from: a server, or a worker that runs the same Go program as a WebAssembly module.
import {inside} from "./page.js";

export const engine = inside?.engine ?? "server";

// get computes numbers of a kind for a query. Its error is away where a later try may go well.
export const get = engine === "worker" ? compute : request;

const away = (message) => Object.assign(new Error(message), {away: true});

async function request(kind, query, signal) {
  let response, body;
  try {
    response = await fetch(`api/${kind}?${query}`, {signal});
    body = await response.json();
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw away("The lab's server does not answer.");
  }
  if (!response.ok) throw Object.assign(new Error(body.error), {away: response.headers.has("Retry-After")});
  return body;
}

// ---- the worker ------------------------------------------------------------------------------------------------------

const patience = 20_000; // for one computation, which ends itself earlier where it can
const worthwhile = 150; // ms that a computation nobody wants any more may go on: less than a new worker takes

let worker = null; // a promise
let compiled = null; // its module, for the next worker
let last = 0;
const waiting = new Map(); // the requests under way, by their numbers

// program is what workers run, kept so that a later one needs no network.
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
    throw away("The program that computes cannot be loaded.");
  });
  return new Promise((ready, failed) => {
    const w = new Worker(program);
    const lost = () => {
      const error = away("The program that computes cannot be loaded.");
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

// drop gives a request up. If the worker is at it still, another worker does what else is to be done.
async function drop(w, id) {
  if (!waiting.delete(id)) return;
  if ((await worker) !== w) return;
  end(w);
  const next = waiting.size ? await load() : null;
  for (const [id, {kind, query}] of waiting) next.postMessage({id, kind, query});
}

async function compute(kind, query, signal) {
  const w = await load();
  const unwanted = () => new DOMException("nobody wants it any more", "AbortError");
  if (signal?.aborted) throw unwanted();
  const id = ++last;
  const began = performance.now();
  let late = 0;
  const text = await new Promise((resolve, reject) => {
    waiting.set(id, {kind, query, resolve, reject});
    w.postMessage({id, kind, query});
    late = setTimeout(() => {
      reject(new Error(`It takes longer than ${patience / 1000} s; ask for less.`));
      drop(w, id);
    }, patience);
    signal?.addEventListener("abort", () => {
      reject(unwanted());
      setTimeout(() => drop(w, id), Math.max(0, worthwhile - (performance.now() - began)));
    });
  }).finally(() => clearTimeout(late));
  const {result, error} = JSON.parse(text);
  if (error) throw new Error(error);
  return result;
}
