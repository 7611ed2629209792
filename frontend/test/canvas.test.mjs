// The graph on the canvas: views, what is hit, names, and labels that keep off edges.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

async function load(path) {
  const result = await build({ entryPoints: [join(here, "..", "src", path)], bundle: true, write: false, format: "esm", jsx: "automatic", jsxImportSource: "preact" });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].text).toString("base64")}`);
}

const canvas = await load("explorer/canvas.ts");
const { crosses } = await load("charts/GraphDrawing.tsx");
const node = (id, x, y, sensors = []) => ({ id, x, y, name: id, group: "G", classes: ["G"], sensors, kinds: [] });
const drawing = { nodes: [node("a", 0, 0, ["s"]), node("b", 1, 0.5), node("c", 0.5, 1)], edges: [{ source: 0, target: 1, relation: "r" }], groups: [{ name: "G", count: 3 }], aspect: 2, placed_by: "layout", left_out: 0, why: "" };
const scene = canvas.sceneOf(drawing);
const size = { width: 800, height: 400 };
const onScreen = (view, at) => ({ x: scene.x[at] * view.zoom + view.left, y: scene.y[at] * view.zoom + view.top });

test("a fitted view shows every node, and a node is hit where it is", () => {
  const view = canvas.fit(scene, scene.x.keys(), size, 2);
  for (const at of [0, 1, 2]) {
    const point = onScreen(view, at);
    assert.ok(point.x >= 0 && point.x <= size.width && point.y >= 0 && point.y <= size.height);
    assert.equal(canvas.hit(scene, view, point, 10), at);
  }
  assert.equal(canvas.hit(scene, view, { x: size.width / 2, y: 2 }, 10), null);
  assert.equal(canvas.fit(scene, [], size, 2), null);
});

test("zooming keeps the point under the pointer and stays within its bounds", () => {
  const view = canvas.fit(scene, scene.x.keys(), size, 2);
  const at = onScreen(view, 1);
  const near = canvas.zoomed(view, 3, at, [0.01, 100]);
  assert.ok(Math.abs(near.zoom - 3 * view.zoom) < 1e-12);
  const now = onScreen(near, 1);
  assert.ok(Math.abs(now.x - at.x) < 1e-9 && Math.abs(now.y - at.y) < 1e-9);
  assert.equal(canvas.zoomed(view, 1e9, at, [0.01, 5]).zoom, 5);
  assert.equal(canvas.zoomed(view, 1e-9, at, [0.01, 5]).zoom, 0.01);
});

test("names that would overlap are left out, but never that of the node that is open", () => {
  const view = canvas.fit(scene, scene.x.keys(), size, 2);
  const marks = { lit: new Set(), standings: new Map(), chosen: null, pointed: null };
  assert.deepEqual(canvas.namesAt(scene, view, size, view.zoom, marks, () => 5), [0, 1, 2]);
  const far = { zoom: view.zoom / 1e4, left: 400, top: 200 };
  assert.deepEqual(canvas.namesAt(scene, far, size, view.zoom, marks, () => 5), [0]);
  assert.deepEqual(canvas.namesAt(scene, far, size, view.zoom, { ...marks, chosen: 2 }, () => 5), [2]);
});

test("an edge crosses a box or does not", () => {
  const box = [10, 10, 20, 20];
  assert.ok(crosses([0, 15, 30, 15], box));
  assert.ok(crosses([15, 0, 15, 30], box));
  assert.ok(crosses([0, 0, 30, 30], box));
  assert.ok(crosses([12, 12, 13, 13], box));
  assert.ok(!crosses([0, 0, 30, 5], box));
  assert.ok(!crosses([0, 15, 5, 15], box));
  assert.ok(!crosses([25, 0, 25, 30], box));
  assert.ok(!crosses([0, 25, 25, 0], [18, 18, 30, 30]));
});
