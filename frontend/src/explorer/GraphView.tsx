// The graph of the site: drawn once, then zoomed, searched and lit without being laid out again.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { Drawing, DrawnNode } from "../types";
import { plural, whole } from "../format";
import { centred, fit, hit, paint, sceneOf, sizesAt, zoomed } from "./canvas";
import type { Standing, View } from "./canvas";
import { colourOf, coloursOf, outlines } from "./colours";

interface Props {
  drawing: Drawing;
  /** Nodes that are lit; the others are dimmed. Nothing is dimmed if there are none. */
  lit: readonly string[];
  /** How the open statement does at nodes: these are coloured by it. */
  standings: ReadonlyMap<string, Standing>;
  /** What is lit, in words. */
  about: string;
  node: string | null;
  /** Changes whenever the colours of the page do. */
  theme: string;
  onNode: (id: string | null) => void;
  /** What lies over the lower part of the drawing: the node that is open. */
  children?: ComponentChildren;
}

const mostListed = 200;
const still = 4; // A pointer that moves less than this many pixels has clicked.

/** Nodes whose name, id, class or kind of sensor has the text, the best first. */
export function search(nodes: readonly DrawnNode[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return nodes.map((_, position) => position);
  const ranked: [number, number][] = [];
  nodes.forEach((node, position) => {
    const name = node.name.toLowerCase();
    const id = node.id.toLowerCase();
    if (name === wanted || id === wanted) ranked.push([0, position]);
    else if (name.startsWith(wanted) || id.startsWith(wanted)) ranked.push([1, position]);
    else if (name.includes(wanted) || id.includes(wanted)) ranked.push([2, position]);
    else if ([...node.classes, ...node.kinds].some((word) => word.toLowerCase().includes(wanted)))
      ranked.push([3, position]);
  });
  return ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, position]) => position);
}

export function GraphView({ drawing, lit, standings, about, node, theme, onNode, children }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [text, setText] = useState("");
  const positions = useMemo(() => new Map(drawing.nodes.map((each, position) => [each.id, position])), [drawing]);
  const litNodes = useMemo(
    () => new Set(lit.map((id) => positions.get(id)).filter((position): position is number => position !== undefined)),
    [lit, positions],
  );
  const coloured = useMemo(
    () => new Map([...standings].flatMap(([id, standing]) => (positions.has(id) ? [[positions.get(id) as number, standing] as const] : []))),
    [standings, positions],
  );
  const found = useMemo(() => search(drawing.nodes, text), [drawing, text]);
  const scene = useMemo(() => sceneOf(drawing), [drawing]);
  const colours = useMemo(() => coloursOf(), [theme]);
  const chosen = node === null ? null : (positions.get(node) ?? null);

  // What changes while the pointer moves is kept aside: it is painted, and the page stays as it is.
  const state = useRef({ view: { zoom: 1, left: 0, top: 0 }, fitted: 1, size: { width: 0, height: 0 }, pointed: null as number | null, frame: 0 });
  const latest = useRef({ scene, colours, lit: litNodes, standings: coloured, chosen });
  latest.current = { scene, colours, lit: litNodes, standings: coloured, chosen };
  const repaint = (): void => {
    const now = state.current;
    if (now.frame !== 0) return;
    now.frame = window.requestAnimationFrame(() => {
      now.frame = 0;
      const pen = canvas.current?.getContext("2d");
      if (!pen || now.size.width === 0) return;
      const dense = window.devicePixelRatio || 1;
      pen.setTransform(dense, 0, 0, dense, 0, 0);
      const { scene: what, colours: with_, lit: some, standings: by, chosen: open } = latest.current;
      paint(pen, what, now.view, now.size, now.fitted, { lit: some, standings: by, chosen: open, pointed: now.pointed }, with_);
    });
  };
  const look = (view: View | null): void => {
    if (view !== null) state.current.view = view;
    repaint();
  };
  const measure = (): void => {
    const [outer, inner] = [box.current, canvas.current];
    if (outer === null || inner === null) return;
    const dense = window.devicePixelRatio || 1;
    const size = { width: outer.clientWidth, height: outer.clientHeight };
    state.current.size = size;
    inner.width = Math.round(size.width * dense);
    inner.height = Math.round(size.height * dense);
  };
  const showAll = (): void => {
    measure();
    const view = fit(scene, scene.x.keys(), state.current.size, 2);
    state.current.fitted = view?.zoom ?? 1;
    look(view);
  };
  const bounds = (): readonly [number, number] => [state.current.fitted / 3, Math.max(state.current.fitted * 40, 4)];
  const zoom = (factor: number, at?: { x: number; y: number }): void => {
    const { view, size } = state.current;
    look(zoomed(view, factor, at ?? { x: size.width / 2, y: size.height / 2 }, bounds()));
  };
  const approach = (): void => look(fit(scene, litNodes, state.current.size, Math.max(state.current.fitted * 6, 1)));
  const show = (position: number): void => {
    const { view, fitted, size } = state.current;
    const level = Math.max(view.zoom, fitted * (drawing.nodes.length > 150 ? 3 : 1));
    look(centred(scene.x[position] ?? 0, scene.y[position] ?? 0, level, size));
  };

  useEffect(() => {
    showAll();
    if (box.current === null) return undefined;
    let { width, height } = state.current.size;
    const watch = new ResizeObserver(([entry]) => {
      const { clientWidth, clientHeight } = entry?.target ?? { clientWidth: 0, clientHeight: 0 };
      if (clientWidth === width && clientHeight === height) return;
      [width, height] = [clientWidth, clientHeight];
      if (width > 0 && height > 0) showAll();
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [scene]);
  useEffect(() => () => window.cancelAnimationFrame(state.current.frame), []);

  useEffect(() => {
    const { view, size } = state.current;
    if (chosen !== null) {
      // A node that lies outside, or where its description covers it, is moved into sight.
      const [x, y] = [(scene.x[chosen] ?? 0) * view.zoom + view.left, (scene.y[chosen] ?? 0) * view.zoom + view.top];
      const by = { x: x < 20 || x > size.width - 20 ? size.width / 2 - x : 0, y: y < 20 || y > size.height * 0.44 ? size.height * 0.28 - y : 0 };
      state.current.view = { ...view, left: view.left + by.x, top: view.top + by.y };
    }
    repaint();
  }, [litNodes, coloured, chosen, scene, colours]);

  // Pointers: one drags, two pinch, and one that stays where it is clicks.
  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(0);
  const at = (event: PointerEvent | WheelEvent): { x: number; y: number } => {
    const frame = canvas.current?.getBoundingClientRect();
    return { x: event.clientX - (frame?.left ?? 0), y: event.clientY - (frame?.top ?? 0) };
  };
  const under = (point: { x: number; y: number }): number | null => {
    const { view, fitted } = state.current;
    return hit(scene, view, point, Math.max(sizesAt(view.zoom, fitted, drawing.nodes.length, litNodes.size).lit, 10));
  };
  const point = (position: number | null): void => {
    if (state.current.pointed === position) return;
    state.current.pointed = position;
    canvas.current?.classList.toggle("over", position !== null);
    repaint();
  };
  const press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    canvas.current?.setPointerCapture(event.pointerId);
    if (pointers.current.size === 0) moved.current = 0;
    pointers.current.set(event.pointerId, at(event));
  };
  const move = (event: PointerEvent): void => {
    const now = at(event);
    const before = pointers.current.get(event.pointerId);
    if (before === undefined) {
      point(under(now));
      return;
    }
    const others = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
    pointers.current.set(event.pointerId, now);
    const { view } = state.current;
    const by = { x: now.x - before.x, y: now.y - before.y };
    moved.current += Math.hypot(by.x, by.y);
    const other = others[0];
    if (other === undefined) {
      if (moved.current >= still) look({ ...view, left: view.left + by.x, top: view.top + by.y });
      return;
    }
    const [far, near] = [Math.hypot(now.x - other.x, now.y - other.y), Math.hypot(before.x - other.x, before.y - other.y)];
    moved.current = Math.max(moved.current, still);
    if (near > 0) zoom(far / near, other);
  };
  const lift = (event: PointerEvent): void => {
    const pressed = pointers.current.delete(event.pointerId);
    if (!pressed || pointers.current.size > 0 || moved.current >= still) return;
    const position = under(at(event));
    onNode(position === null ? null : (drawing.nodes[position]?.id ?? null));
  };
  const drop = (event: PointerEvent): void => {
    pointers.current.delete(event.pointerId);
  };
  const turn = useRef((_: WheelEvent): void => undefined);
  turn.current = (event) => {
    event.preventDefault();
    const step = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    zoom(Math.exp(-Math.max(-240, Math.min(240, step)) * 0.0022), at(event));
  };
  useEffect(() => {
    // A wheel that zooms must not scroll the page, which only a listener that says so may decide.
    const wheel = (event: WheelEvent): void => turn.current(event);
    canvas.current?.addEventListener("wheel", wheel, { passive: false });
    return () => canvas.current?.removeEventListener("wheel", wheel);
  }, []);

  const choose = (position: number): void => {
    const id = drawing.nodes[position]?.id;
    if (id === undefined) return;
    show(position);
    onNode(id);
  };
  const title = node === null ? "" : (drawing.nodes[positions.get(node) ?? -1]?.name ?? "");
  const summary =
    `Graph with ${plural(drawing.nodes.length, "node")} and ${plural(drawing.edges.length, "edge")}.` +
    (about ? ` ${about}` : "") +
    (title ? ` Chosen: ${title}.` : "");
  return (
    <div class="graph-view">
      <div class="graph-tools">
        <input
          class="input"
          type="search"
          placeholder="Find a node"
          aria-label="Find a node by name, class or sensor"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && found[0] !== undefined) choose(found[0]);
          }}
        />
        <div class="buttons" role="group" aria-label="Zoom of the graph">
          <button type="button" class="button icon" aria-label="Zoom out" title="Zoom out" onClick={() => zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" class="button icon" aria-label="Zoom in" title="Zoom in" onClick={() => zoom(1.5)}>
            +
          </button>
          <button type="button" class="button" title="Show the whole graph" onClick={showAll}>
            Fit
          </button>
          {litNodes.size > 0 && (
            <button type="button" class="button" title="Show the part that is highlighted" onClick={approach}>
              Zoom to highlighted
            </button>
          )}
        </div>
      </div>
      <div class="graph-stage">
        <div class="graph-box" ref={box} role="img" aria-label={summary}>
          <canvas ref={canvas} onPointerDown={press} onPointerMove={move} onPointerUp={lift} onPointerCancel={drop} onPointerLeave={() => point(null)} />
        </div>
        {children}
      </div>
      {about && <p class="graph-about">{about}</p>}
      {standings.size > 0 && (
        <ul class="legend" aria-label="How it holds">
          <li>
            <Dot colour={colours.good} /> it holds
          </li>
          <li>
            <Dot colour={colours.exception} /> exception
          </li>
          <li>
            <Dot colour={colours.quiet} /> does not apply
          </li>
        </ul>
      )}
      {standings.size === 0 && <ul class="legend" aria-label="Classes of the nodes">
        {drawing.groups.map((group, position) => (
          <li key={group.name}>
            <Mark colour={colourOf(colours, position)} position={position} />
            {group.name} <span class="muted">{whole(group.count)}</span>
          </li>
        ))}
      </ul>}
      {drawing.why && <p class="muted small">{drawing.why}</p>}
      <details class="node-list" open={text.trim() !== ""}>
        <summary>Nodes as a list{text.trim() && ` (${whole(found.length)} found)`}</summary>
        <ul>
          {found.slice(0, mostListed).map((position) => {
            const each = drawing.nodes[position] as DrawnNode;
            return (
              <li key={each.id}>
                <button
                  type="button"
                  class="link"
                  aria-current={each.id === node ? "true" : undefined}
                  onClick={() => choose(position)}
                >
                  <bdi>{each.name}</bdi>{" "}
                  <span class="muted">
                    {each.group}
                    {each.kinds.length > 0 && `: ${each.kinds.join(", ")}`}
                  </span>
                </button>
              </li>
            );
          })}
        </ul>
        {found.length > mostListed && (
          <p class="muted small">
            The first {mostListed} of {whole(found.length)}; type a part of the name to find others.
          </p>
        )}
      </details>
    </div>
  );
}

function Dot({ colour }: { colour: string }): JSX.Element {
  return (
    <svg class="mark" width="12" height="12" viewBox="-1.15 -1.15 2.3 2.3" aria-hidden="true">
      <circle r="1" fill={colour} />
    </svg>
  );
}

function Mark({ colour, position }: { colour: string; position: number }): JSX.Element {
  const corners = outlines[position % outlines.length];
  return (
    <svg class="mark" width="12" height="12" viewBox="-1.15 -1.15 2.3 2.3" aria-hidden="true">
      {corners ? <polygon points={corners.map((corner) => corner.join(",")).join(" ")} fill={colour} /> : <circle r="1" fill={colour} />}
    </svg>
  );
}
