// The graph as a picture: nodes by class, those with sensors emphasised, and a part of it highlighted.
import { useId, useMemo, useState } from "preact/hooks";
import { useWidth } from "../hooks";
import type { DrawnNode, Drawing } from "../types";
import { Tip } from "./cursor";
import { extent, groupColour, linear, ramp } from "./scales";

export interface Placed {
  node: DrawnNode;
  x: number;
  y: number;
  r: number;
  colour: string;
}

/** The colour of each class of the drawing. */
export function groupColours(drawing: Drawing): Map<string, string> {
  return new Map(drawing.groups.map((group, index) => [group.name, groupColour(index)]));
}

interface GraphDrawingProps {
  drawing: Drawing;
  summary: string;
  highlight?: ReadonlySet<string> | undefined;
  /** Colour nodes by a share between 0 and 1 instead of by class; the key is the position of the node. */
  shares?: Map<number, number> | undefined;
  shareText?: (share: number) => string;
  maxHeight?: number;
}

export function GraphDrawing({ drawing, summary, highlight, shares, shareText, maxHeight = 520 }: GraphDrawingProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [hover, setHover] = useState<number | null>(null);
  const colours = useMemo(() => groupColours(drawing), [drawing]);
  const pad = 14;
  const inner = width - 2 * pad;
  // The frame is no larger than what is drawn in it.
  const [left, right] = useMemo(() => extent(drawing.nodes.map((node) => node.x)) ?? [0, 1], [drawing]);
  const [top, bottom] = useMemo(() => extent(drawing.nodes.map((node) => node.y)) ?? [0, 1], [drawing]);
  const aspect = drawing.aspect > 0 ? drawing.aspect : 1;
  const [spanX, spanY] = [Math.max(right - left, 0.001), Math.max(bottom - top, 0.001)];
  const high = Math.min(maxHeight / spanY, inner / spanX / aspect, 4 * maxHeight);
  const wide = high * aspect;
  const shift = pad + (inner - wide * (right - left)) / 2 - wide * left;
  const fall = pad + 6 - high * top;
  const height = high * (bottom - top) + 2 * (pad + 6);
  const crowd = drawing.nodes.length;
  const scale = Math.min(1.15, Math.max(0.5, Math.sqrt((wide * spanX * Math.max(60, high * spanY)) / (crowd + 1)) / 42));
  const rare = useMemo(() => new Set(drawing.groups.filter((group) => crowd > 80 && group.count * 12 < crowd).map((group) => group.name)), [drawing, crowd]);
  const placed: Placed[] = useMemo(
    () =>
      drawing.nodes.map((node) => ({
        node,
        x: shift + node.x * wide,
        y: fall + node.y * high,
        r: (node.sensors.length > 0 ? 5 : 2.8) * scale * (rare.has(node.group) ? 1.35 : 1),
        colour: colours.get(node.group) ?? groupColour(7),
      })),
    [drawing, shift, fall, wide, high, scale, colours, rare],
  );
  const some = highlight !== undefined && highlight.size > 0;
  const ends = useMemo<Line[]>(
    () =>
      drawing.edges.flatMap(({ source, target }) => {
        const [a, b] = [placed[source], placed[target]];
        return a && b ? [[a.x, a.y, b.x, b.y]] : [];
      }),
    [drawing, placed],
  );
  const edges = useMemo(() => {
    let path = "";
    for (const [x0, y0, x1, y1] of ends) path += `M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`;
    return path;
  }, [drawing, placed]);
  const litEdges = useMemo(() => {
    if (!some) return "";
    let path = "";
    for (const { source, target } of drawing.edges) {
      const [a, b] = [placed[source], placed[target]];
      if (a && b && highlight.has(a.node.id) && highlight.has(b.node.id)) path += `M${a.x.toFixed(1)} ${a.y.toFixed(1)}L${b.x.toFixed(1)} ${b.y.toFixed(1)}`;
    }
    return path;
  }, [drawing, placed, highlight, some]);
  const labels = useMemo(() => labelsOf(placed, width, crowd <= 60 ? () => true : (p) => some && highlight.has(p.node.id), some ? highlight : undefined, crowd <= 60 ? ends : [], height), [placed, width, height, highlight, some, crowd]);
  const move = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGSVGElement).getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * width;
    const py = ((event.clientY - box.top) / box.height) * height;
    let best: number | null = null;
    let gap = 18 ** 2;
    placed.forEach(({ x, y }, at) => {
      const far = (x - px) ** 2 + (y - py) ** 2;
      if (far < gap) [best, gap] = [at, far];
    });
    setHover(best);
  };
  // Nodes without sensors first, rare classes last: what is special lies on top.
  const order = useMemo(() => {
    const rank = ({ node }: Placed) => (node.sensors.length > 0 ? 1000 : 0) + drawing.groups.findIndex((group) => group.name === node.group);
    return placed.map((one, at) => ({ at, rank: rank(one) })).sort((a, b) => a.rank - b.rank).map(({ at }) => at);
  }, [placed, drawing]);
  const over = hover === null ? undefined : placed[hover];
  return (
    <div class="plot graph" ref={ref}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={summary} onPointerMove={move} onPointerLeave={() => setHover(null)}>
        <path d={edges} fill="none" stroke="var(--faint)" stroke-width={Math.max(0.8, 1.1 * scale)} opacity={some && !shares ? 0.55 : 1} />
        {litEdges && <path d={litEdges} fill="none" stroke="var(--ink)" stroke-width="2.2" />}
        {order.map((at) => {
          const { node, x, y, r, colour } = placed[at] as Placed;
          const lit = some && highlight.has(node.id);
          const share = shares?.get(at);
          const fill = shares ? (share === undefined ? "var(--bg)" : ramp(share)) : node.sensors.length > 0 ? colour : "var(--bg)";
          const stroke = shares ? (share === undefined ? "var(--line-strong)" : "var(--muted)") : node.sensors.length > 0 ? "var(--bg)" : colour;
          return (
            <circle
              key={at}
              cx={x}
              cy={y}
              r={lit ? Math.max(6, r * 1.35) : shares ? (share === undefined ? 2 * scale : Math.max(4, 5 * scale)) : r}
              fill={fill}
              stroke={lit ? "var(--ink)" : stroke}
              stroke-width={lit ? 2.2 : shares ? 1 : node.sensors.length > 0 ? 1 : 1.2}
              opacity={some && !lit && !shares ? 0.3 : 1}
            />
          );
        })}
        {labels.map(({ x, y, text, anchor }, at) => (
          <text key={at} class="node-label" x={x} y={y} text-anchor={anchor}>
            {text}
          </text>
        ))}
        {over && <circle cx={over.x} cy={over.y} r={over.r + 4} fill="none" stroke="var(--ink)" stroke-width="1.5" />}
      </svg>
      {over && hover !== null && (
        <Tip at={over.x / width} top={Math.max(0, over.y - 20)}>
          <b>{over.node.name}</b>
          <div class="muted">{over.node.classes.join(", ") || over.node.group}</div>
          {over.node.kinds.length > 0 && <div>{over.node.kinds.join(", ")}</div>}
          {shares && <div>{shares.has(hover) ? (shareText?.(shares.get(hover) as number) ?? "") : "no rules here"}</div>}
        </Tip>
      )}
    </div>
  );
}

interface Label {
  x: number;
  y: number;
  text: string;
  anchor: "start" | "end" | "middle";
}

type Box = [number, number, number, number];
/** The two ends of an edge: x, y, x, y. */
export type Line = readonly [number, number, number, number];

/** Whether a line crosses a box. */
export function crosses([x0, y0, x1, y1]: Line, [left, top, right, bottom]: Readonly<Box>): boolean {
  // The part of the line within the box, from its start (0) to its end (1), cut side by side.
  let [from, to] = [0, 1];
  for (const [start, step, low, high] of [
    [x0, x1 - x0, left, right],
    [y0, y1 - y0, top, bottom],
  ] as const) {
    if (step === 0) {
      if (start < low || start > high) return false;
      continue;
    }
    const [a, b] = [(low - start) / step, (high - start) / step];
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
    if (from > to) return false;
  }
  return true;
}

/** Names of nodes where there is room for them; nodes that are highlighted or have sensors first. */
export function labelsOf(placed: readonly Placed[], width: number, wanted: (placed: Placed) => boolean, first?: ReadonlySet<string>, lines: readonly Line[] = [], height = Infinity): Label[] {
  const taken: [number, number, number, number][] = placed.map(({ x, y, r }) => [x - r, y - r, x + r, y + r]);
  const rank = ({ node }: Placed) => (first?.has(node.id) ? 2 : 0) + (node.sensors.length > 0 ? 1 : 0);
  const labels: Label[] = [];
  const free = (box: [number, number, number, number], self: number) =>
    box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && taken.every((other, at) => at === self || box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  placed
    .map((one, at) => ({ one, at }))
    .filter(({ one }) => wanted(one) && one.node.name)
    .sort((a, b) => rank(b.one) - rank(a.one))
    .slice(0, 150)
    .forEach(({ one, at }) => {
      const text = one.node.name.length > 28 ? `${one.node.name.slice(0, 27)}…` : one.node.name;
      const wide = text.length * 6.2;
      const gap = one.r + 4;
      const spots: Label[] = [
        { x: one.x + gap, y: one.y + 4, text, anchor: "start" },
        { x: one.x - gap, y: one.y + 4, text, anchor: "end" },
        { x: one.x, y: one.y + gap + 9, text, anchor: "middle" },
        { x: one.x, y: one.y - gap - 1, text, anchor: "middle" },
      ];
      // A spot that no edge crosses is better than one that an edge does.
      const boxed = spots.map((spot) => {
        const from = spot.anchor === "start" ? spot.x : spot.anchor === "end" ? spot.x - wide : spot.x - wide / 2;
        const box: Box = [from, spot.y - 11, from + wide, spot.y + 2];
        return { spot, box };
      });
      const open = boxed.filter(({ box }) => free(box, at));
      const best = open.find(({ box }) => !lines.some((line) => crosses(line, box))) ?? open[0];
      if (best === undefined) return;
      taken.push(best.box);
      labels.push(best.spot);
    });
  return labels;
}

const MOST_AROUND = 8;

/** The nodes that an edge joins with one node, unless they are many. */
function neighboursOf(drawing: Drawing, id: string): string[] {
  const found = new Set<string>();
  for (const { source, target } of drawing.edges) {
    const [a, b] = [drawing.nodes[source], drawing.nodes[target]];
    if (a && b && a.id === id) found.add(b.id);
    if (a && b && b.id === id) found.add(a.id);
  }
  found.delete(id);
  return found.size <= MOST_AROUND ? [...found] : [];
}

interface GraphPieceProps {
  drawing: Drawing | null;
  nodes: string[];
  edges: string[][];
  highlight?: ReadonlySet<string> | undefined;
  summary: string;
}

/** The part of the graph that a card speaks of, with its surroundings. */
export function GraphPiece({ drawing, nodes, edges, highlight, summary }: GraphPieceProps) {
  const [ref, width] = useWidth<HTMLDivElement>(300);
  const frame = useId();
  if (nodes.length === 0) return null;
  const [known, colours] = [new Map<string, DrawnNode>(), drawing ? groupColours(drawing) : new Map<string, string>()];
  for (const node of drawing?.nodes ?? []) known.set(node.id, node);
  const there = nodes.filter((id) => known.has(id));
  const placed = new Map<string, Placed>();
  const height = Math.min(240, Math.max(150, width * 0.62));
  const context: string[] = [];
  const ends: Line[] = [];
  const colourOf = (node: DrawnNode | undefined) => (node ? (colours.get(node.group) ?? groupColour(7)) : groupColour(0));
  const spread = (low: number, high: number) => Math.max(high - low, 1e-9);
  // A node by itself says little: its neighbours are shown with it.
  const around = there.length === 1 && nodes.length === 1 && drawing ? neighboursOf(drawing, there[0] as string) : [];
  const inView = [...there, ...around];
  const xs = inView.map((id) => known.get(id)?.x ?? 0);
  const ys = inView.map((id) => known.get(id)?.y ?? 0);
  const aspect = drawing?.aspect || 1;
  const together = inView.length > 1 && spread(Math.min(...xs), Math.max(...xs)) + spread(Math.min(...ys), Math.max(...ys)) > 1e-6;
  if (there.length === nodes.length && (together || there.length === 1)) {
    // All places are drawn: keep where they are, to the same scale in both directions.
    const [cx, cy] = [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
    const [padX, padY] = [70, 34];
    const unit = Math.min((width - 2 * padX) / (spread(Math.min(...xs), Math.max(...xs)) * aspect), (height - 2 * padY) / spread(Math.min(...ys), Math.max(...ys)), ((inView.length === 1 ? 2.5 : 9) * width) / aspect);
    const sx = (x: number) => width / 2 + (x - cx) * aspect * unit;
    const sy = (y: number) => height / 2 + (y - cy) * unit;
    for (const id of inView) {
      const node = known.get(id) as DrawnNode;
      const r = around.includes(id) ? 4 : node.sensors.length > 0 ? 7 : 5;
      placed.set(id, { node, x: sx(node.x), y: sy(node.y), r, colour: colourOf(node) });
    }
    for (const { source, target } of drawing?.edges ?? []) {
      const [a, b] = [drawing?.nodes[source], drawing?.nodes[target]];
      if (!a || !b) continue;
      const line: Line = [sx(a.x), sy(a.y), sx(b.x), sy(b.y)];
      if (Math.max(line[0], line[2]) < 0 || Math.min(line[0], line[2]) > width || Math.max(line[1], line[3]) < 0 || Math.min(line[1], line[3]) > height) continue;
      ends.push(line);
      context.push(`M${line.map((v) => v.toFixed(1)).join(" ").replace(/^(\S+ \S+) /, "$1L")}`);
    }
  } else {
    const turn = linear([0, nodes.length], [-Math.PI, Math.PI]);
    nodes.forEach((id, at) => {
      const node = known.get(id) ?? { id, x: 0, y: 0, name: id, group: "", classes: [], sensors: [id], kinds: [] };
      const alone = nodes.length === 1;
      const [rx, ry] = [Math.max(20, width / 2 - 80), height / 2 - 34];
      placed.set(id, { node, x: width / 2 + (alone ? 0 : Math.cos(turn(at)) * rx), y: height / 2 + (alone ? 0 : Math.sin(turn(at)) * ry), r: 7, colour: colourOf(known.get(id)) });
    });
  }
  const all = [...placed.values()];
  const lines = edges.flatMap(([from, to]) => {
    const [a, b] = [placed.get(from ?? ""), placed.get(to ?? "")];
    if (!a || !b) return [];
    ends.push([a.x, a.y, b.x, b.y]);
    return [`M${a.x.toFixed(1)} ${a.y.toFixed(1)}L${b.x.toFixed(1)} ${b.y.toFixed(1)}`];
  });
  const some = highlight !== undefined && highlight.size > 0;
  return (
    <div class="plot graph piece" ref={ref}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={summary}>
        <clipPath id={frame}>
          <rect width={width} height={height} rx="8" />
        </clipPath>
        <path d={context.join("")} fill="none" stroke="var(--line-strong)" stroke-width="1" clip-path={`url(#${frame})`} />
        <path d={lines.join("")} fill="none" stroke="var(--ink)" stroke-width="2" />
        {all.map(({ node, x, y, r, colour }) => (
          <circle key={node.id} cx={x} cy={y} r={r} fill={node.sensors.length > 0 ? colour : "var(--bg)"} stroke={some && highlight.has(node.id) ? "var(--violated)" : node.sensors.length > 0 ? "var(--bg)" : colour} stroke-width={some && highlight.has(node.id) ? 3 : 1.5} />
        ))}
        {labelsOf(all, width, () => true, undefined, ends, height).map(({ x, y, text, anchor }, at) => (
          <text key={at} class="node-label" x={x} y={y} text-anchor={anchor}>
            {text}
          </text>
        ))}
      </svg>
    </div>
  );
}
