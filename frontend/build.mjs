// Builds the pages: one script and one style sheet for each entry point, the same bytes from the same sources.
//
//   node build.mjs [--out FOLDER] [report] [explorer]
//
// Without --out the bundles go into the Python package, and what each was made from (the SHA-256 of every source)
// into bundles/NAME.json, so that a test can tell whether a bundle is current without running node.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const args = process.argv.slice(2);
const at = args.indexOf("--out");
const out = at < 0 ? null : args.splice(at, 2)[1];
const entries = {
  report: { source: "src/report/main.tsx", folder: "../src/thence/show/reports/static" },
  explorer: { source: "src/explorer/main.tsx", folder: "../src/thence/show/explorer/static" },
};
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

for (const [name, { source, folder }] of Object.entries(entries)) {
  if (args.length > 0 && !args.includes(name)) continue;
  if (!existsSync(join(here, source))) continue;
  const target = out ?? join(here, folder);
  const result = await build({
    absWorkingDir: here,
    entryPoints: { [name]: source },
    outdir: "build", // Names the outputs; nothing is written there.
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: "iife",
    target: ["es2022"],
    charset: "ascii",
    legalComments: "eof",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
  });
  mkdirSync(target, { recursive: true });
  const outputs = {};
  for (const file of result.outputFiles) {
    const leaf = file.path.split(/[\\/]/).at(-1);
    writeFileSync(join(target, leaf), file.contents);
    outputs[leaf] = sha256(file.contents);
    console.log(`${leaf}: ${(file.contents.length / 1000).toFixed(1)} kB`);
  }
  if (out !== null) continue;
  const sources = Object.keys(result.metafile.inputs).filter((path) => path.startsWith("src/"));
  sources.push("build.mjs", "package-lock.json");
  const record = { outputs: {}, sources: {} };
  for (const leaf of Object.keys(outputs).sort()) record.outputs[leaf] = outputs[leaf];
  for (const path of sources.sort()) record.sources[path] = sha256(readFileSync(join(here, path)));
  mkdirSync(join(here, "bundles"), { recursive: true });
  writeFileSync(join(here, "bundles", `${name}.json`), JSON.stringify(record, null, 2) + "\n");
}
