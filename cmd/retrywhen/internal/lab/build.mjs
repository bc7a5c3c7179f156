// Bundles src into assets/app.js and worker.js, and writes the licenses of the bundled packages. An argument is another
// output folder; the test uses it.
import {build} from "esbuild";
import {readFileSync, readdirSync, writeFileSync, mkdirSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "assets");
mkdirSync(out, {recursive: true});

const {metafile} = await build({
  absWorkingDir: here,
  entryPoints: {app: "src/main.js", worker: "src/worker.js"},
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  outdir: out,
});

const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
let text = "app.js contains these packages.\n";
for (const name of [...packages].sort()) {
  const dir = join(here, "node_modules", name);
  const {version} = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const license = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
  if (!license) throw new Error(`${name} has no license file`);
  text += `\n${"=".repeat(72)}\n${name} ${version}\n\n${readFileSync(join(dir, license), "utf8").trim()}\n`;
}
writeFileSync(join(out, "app.licenses.txt"), text);
