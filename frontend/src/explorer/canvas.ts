// The graph on a canvas: where things are, how large, what is hit, and how it is painted. Knows no page and no server.
import type { Drawing } from "../types";
import { colourOf, outlines } from "./colours";
import type { Colours } from "./colours";

export const tall = 1000; // The height of the drawing in its own units.
const margin = 44; // Room around the drawing for names, in pixels.
export const few = 24; // So many lit nodes are drawn large and named.
const mostNamed = 150;
const font = '11.5px Inter, system-ui, sans-serif';

/** A drawing as plain columns. */
export interface Scene {
  x: Float64Array;
  y: Float64Array;
  group: Int32Array;
  sensed: Uint8Array;
  names: readonly string[];
  source: Int32Array;
  target: Int32Array;
  groups: number;
}

/** What part is seen: a point of the drawing is at `x * zoom + left` on the screen. */
export interface View {
  zoom: number;
  left: number;
  top: number;
}

export interface Size {
  width: number;
  height: number;
}

/** How a statement does at a node. */
export type Standing = "good" | "exception";

/** What stands out. */
export interface Marks {
  /** Nodes that are lit; the others are dimmed unless there are none. */
  lit: ReadonlySet<number>;
  /** Lit nodes that are coloured by how a statement does there. */
  standings: ReadonlyMap<number, Standing>;
  chosen: number | null;
  pointed: number | null;
}

export function sceneOf(drawing: Drawing): Scene {
  const groups = new Map(drawing.groups.map((group, position) => [group.name, position]));
  return {
    x: Float64Array.from(drawing.nodes, (node) => node.x * tall * drawing.aspect),
    y: Float64Array.from(drawing.nodes, (node) => node.y * tall),
    group: Int32Array.from(drawing.nodes, (node) => groups.get(node.group) ?? -1),
    sensed: Uint8Array.from(drawing.nodes, (node) => (node.sensors.length > 0 ? 1 : 0)),
    names: drawing.nodes.map((node) => node.name),
    source: Int32Array.from(drawing.edges, (edge) => edge.source),
    target: Int32Array.from(drawing.edges, (edge) => edge.target),
    groups: drawing.groups.length,
  };
}

/** The view that shows some nodes, at most at a given zoom. */
export function fit(scene: Scene, nodes: Iterable<number>, { width, height }: Size, most: number): View | null {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const at of nodes) {
    const [x, y] = [scene.x[at] as number, scene.y[at] as number];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  }
  if (left > right) return null;
  const room = (size: number): number => Math.max(size - 2 * margin, 10);
  const zoom = Math.min(room(width) / Math.max(right - left, 1), room(height) / Math.max(bottom - top, 1), most);
  return centred((left + right) / 2, (top + bottom) / 2, zoom, { width, height });
}

/** The view with a point of the drawing in its middle. */
export function centred(x: number, y: number, zoom: number, { width, height }: Size): View {
  return { zoom, left: width / 2 - x * zoom, top: height / 2 - y * zoom };
}

/** The view after zooming around a point of the screen. */
export function zoomed(view: View, factor: number, at: { x: number; y: number }, [low, high]: readonly [number, number]): View {
  const zoom = Math.min(Math.max(view.zoom * factor, low), high);
  const by = zoom / view.zoom;
  return { zoom, left: at.x - (at.x - view.left) * by, top: at.y - (at.y - view.top) * by };
}

/** Sizes in pixels. */
export interface Sizes {
  node: number;
  lit: number;
  hair: number;
}

/** Sizes that stay readable at any zoom: nodes grow more slowly than the drawing, letters and lines hardly at all. */
export function sizesAt(zoom: number, fitted: number, nodes: number, lit: number): Sizes {
  const spacing = (tall / Math.sqrt(Math.max(nodes, 12))) * fitted;
  const growth = Math.min(Math.max(Math.sqrt(zoom / fitted), 0.7), 3);
  const node = Math.min(Math.max(spacing * 0.36, 4), 15) * growth;
  const hair = (spacing < 16 ? 1 : 1.3) * Math.min(growth, 1.6);
  return { node, lit: Math.max(node * 1.2, lit > few ? 6 : 9), hair };
}

/** The node at a point of the screen, if there is one within reach; nodes with sensors win over others. */
export function hit(scene: Scene, view: View, at: { x: number; y: number }, reach: number): number | null {
  let best: number | null = null;
  let least = reach * reach;
  for (let node = 0; node < scene.x.length; node += 1) {
    const dx = (scene.x[node] as number) * view.zoom + view.left - at.x;
    const dy = (scene.y[node] as number) * view.zoom + view.top - at.y;
    const far = dx * dx + dy * dy + (scene.sensed[node] ? 0 : 4);
    if (far < least) [best, least] = [node, far];
  }
  return best;
}

/** The middle of a name that is moved no further than it takes to stay within the width. */
function within(x: number, half: number, width: number): number {
  return 2 * half >= width ? width / 2 : Math.min(Math.max(x, half), width - half);
}

/** The nodes to name: what is open first, then what is lit, then nodes with sensors, as far as there is room. */
export function namesAt(scene: Scene, view: View, size: Size, fitted: number, marks: Marks, radius: (node: number) => number): number[] {
  const { lit, chosen, pointed } = marks;
  const count = scene.x.length;
  const all = (count <= 80 && lit.size === 0) || view.zoom > 3 * fitted;
  const wanted: number[] = all ? Array.from({ length: count }, (_, node) => node) : lit.size > few ? [] : [...lit];
  for (const one of [chosen, pointed]) if (one !== null && !wanted.includes(one)) wanted.push(one);
  const rank = (node: number): number => (node === chosen || node === pointed ? 0 : lit.has(node) ? 1 : scene.sensed[node] ? 2 : 3);
  const placed = wanted
    .map((node) => ({ node, rank: rank(node), x: (scene.x[node] as number) * view.zoom + view.left, y: (scene.y[node] as number) * view.zoom + view.top }))
    .filter(({ x, y }) => x >= 0 && x <= size.width && y >= 0 && y <= size.height)
    .sort((a, b) => a.rank - b.rank);
  const taken: [number, number, number, number][] = [];
  const named: number[] = [];
  for (const { node, rank: order, x, y } of placed) {
    const half = (scene.names[node] as string).length * 3.3 + 3;
    const [middle, top] = [within(x, half, size.width), y + radius(node)];
    const box: [number, number, number, number] = [middle - half, top, middle + half, top + 17];
    if (order > 0 && taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    named.push(node);
    if (named.length >= mostNamed) break;
  }
  return named;
}

/** Paints the part that is seen. */
export function paint(pen: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, fitted: number, marks: Marks, colours: Colours): void {
  const { lit, chosen, standings } = marks;
  const sizes = sizesAt(view.zoom, fitted, scene.x.length, lit.size);
  const dim = lit.size > 0;
  const x = (node: number): number => (scene.x[node] as number) * view.zoom + view.left;
  const y = (node: number): number => (scene.y[node] as number) * view.zoom + view.top;
  const radius = (node: number): number =>
    (node === chosen ? sizes.lit * 1.25 : lit.has(node) ? sizes.lit : scene.sensed[node] ? sizes.node : sizes.node * 0.72) / 2;
  pen.clearRect(0, 0, size.width, size.height);
  pen.lineJoin = "round";

  const between: number[] = [];
  pen.beginPath();
  for (let edge = 0; edge < scene.source.length; edge += 1) {
    const [a, b] = [scene.source[edge] as number, scene.target[edge] as number];
    if (dim && lit.has(a) && lit.has(b)) {
      between.push(edge);
      continue;
    }
    const [ax, ay, bx, by] = [x(a), y(a), x(b), y(b)];
    if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > size.width || Math.max(ay, by) < 0 || Math.min(ay, by) > size.height) continue;
    pen.moveTo(ax, ay);
    pen.lineTo(bx, by);
  }
  pen.globalAlpha = dim ? 0.6 : scene.x.length > 300 ? 0.75 : 1;
  pen.strokeStyle = colours.line;
  pen.lineWidth = sizes.hair;
  pen.stroke();
  pen.globalAlpha = 1;
  if (between.length > 0) {
    pen.beginPath();
    for (const edge of between) {
      pen.moveTo(x(scene.source[edge] as number), y(scene.source[edge] as number));
      pen.lineTo(x(scene.target[edge] as number), y(scene.target[edge] as number));
    }
    pen.strokeStyle = colours.strong;
    pen.lineWidth = 2;
    pen.stroke();
  }

  // Nodes of one class, with or without sensors, are one path: few calls, however many nodes there are.
  const groups = new Map<number, number[]>();
  for (let node = 0; node < scene.x.length; node += 1) {
    const [px, py] = [x(node), y(node)];
    if (px < -20 || px > size.width + 20 || py < -20 || py > size.height + 20) continue;
    if (node === chosen || lit.has(node)) continue;
    const key = 2 * ((scene.group[node] as number) + 1) + (scene.sensed[node] as number);
    const some = groups.get(key);
    if (some === undefined) groups.set(key, [node]);
    else some.push(node);
  }
  for (const sensed of [0, 1])
    for (const [key, nodes] of groups) {
      if (key % 2 !== sensed) continue;
      const group = (key - sensed) / 2 - 1;
      pen.beginPath();
      for (const node of nodes) outline(pen, x(node), y(node), radius(node), group);
      pen.globalAlpha = (dim ? 0.22 : 1) * (sensed ? 1 : 0.55);
      pen.fillStyle = group < 0 || standings.size > 0 ? colours.quiet : colourOf(colours, group);
      pen.fill();
    }
  pen.globalAlpha = 1;
  const raised = [...lit].filter((node) => node !== chosen).sort((a, b) => Number(standings.get(a) === "exception") - Number(standings.get(b) === "exception"));
  if (chosen !== null) raised.push(chosen);
  for (const node of raised) {
    const group = scene.group[node] as number;
    pen.beginPath();
    outline(pen, x(node), y(node), radius(node), group);
    const standing = standings.get(node);
    pen.fillStyle = standing !== undefined ? colours[standing] : group < 0 ? colours.quiet : colourOf(colours, group);
    pen.fill();
    pen.strokeStyle = node === chosen ? colours.accent : colours.strong;
    pen.lineWidth = node === chosen ? 3 : Math.min(1.6, radius(node) * 0.36);
    pen.stroke();
  }

  pen.font = font;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  pen.lineWidth = 4;
  pen.strokeStyle = colours.surface;
  pen.fillStyle = colours.text;
  for (const node of namesAt(scene, view, size, fitted, marks, radius)) {
    const [text, top] = [scene.names[node] as string, y(node) + radius(node) + 4];
    const middle = within(x(node), pen.measureText(text).width / 2 + 4, size.width);
    pen.strokeText(text, middle, top);
    pen.fillText(text, middle, top);
  }
}

/** The outline of a node around its middle. */
function outline(pen: CanvasRenderingContext2D, x: number, y: number, radius: number, group: number): void {
  const corners = group < 0 ? null : outlines[group % outlines.length];
  if (!corners) {
    pen.moveTo(x + radius, y);
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([dx, dy], at) => {
    if (at === 0) pen.moveTo(x + dx * radius, y + dy * radius);
    else pen.lineTo(x + dx * radius, y + dy * radius);
  });
  pen.closePath();
}
