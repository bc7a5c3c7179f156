// The worker runs lab.wasm, the Go program that computes the page's numbers. It is loaded after wasm_exec.js.
/* global Go */

async function compile(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  let bytes = await response.arrayBuffer();
  const [a, b] = new Uint8Array(bytes, 0, 2);
  if (a === 0x1f && b === 0x8b) { // gzip; some servers declare the compression, and then the browser has decompressed it already
    bytes = await new Response(new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }
  return WebAssembly.compile(bytes);
}

self.ready = () => {
  self.onmessage = ({data: {id, kind, query}}) => self.retrywhen(kind, query, (text) => postMessage({id, text}));
  postMessage({ready: true});
};

self.onmessage = async ({data}) => {
  try {
    const module = data.module ?? await compile(data.address);
    if (!data.module) postMessage({module});
    const go = new Go();
    go.run(await WebAssembly.instantiate(module, go.importObject));
  } catch (e) {
    postMessage({failed: String(e)});
  }
};
