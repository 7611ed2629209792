// The graph of the site: drawn once, then zoomed, searched and lit without being laid out again.
import cytoscape from "cytoscape";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { Drawing, DrawnNode } from "../types";
import { plural, whole } from "../format";
import { colourOf, coloursOf, shapes } from "./colours";
import type { Colours } from "./colours";

interface Props {
  drawing: Drawing;
  /** Nodes that are lit; the others are dimmed. Nothing is dimmed if there are none. */
  lit: readonly string[];
  /** What is lit, in words. */
  about: string;
  node: string | null;
  /** Changes whenever the colours of the page do. */
  theme: string;
  onNode: (id: string | null) => void;
  /** What lies over the lower part of the drawing: the node that is open. */
  children?: ComponentChildren;
}

const tall = 1000; // The height of the drawing in its own units.
const margin = 44; // Room around the drawing for names, in pixels.
const few = 24; // So many lit nodes are drawn large and named.
const mostListed = 200;

/** The elements of the drawing at their places. */
export function elementsOf(drawing: Drawing): cytoscape.ElementDefinition[] {
  const groups = new Map(drawing.groups.map((group, position) => [group.name, position]));
  const nodes = drawing.nodes.map((node, position) => ({
    group: "nodes" as const,
    data: { id: `n${position}`, name: node.name, group: groups.get(node.group) ?? -1, sensors: node.sensors.length },
    position: { x: node.x * tall * drawing.aspect, y: node.y * tall },
  }));
  const edges = drawing.edges.map((edge, position) => ({
    group: "edges" as const,
    data: { id: `e${position}`, source: `n${edge.source}`, target: `n${edge.target}` },
  }));
  return [...nodes, ...edges];
}

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

/** Sizes of what is drawn, in the units of the drawing. */
interface Sizes {
  node: number;
  lit: number;
  hair: number;
  pixel: number;
}

/** Sizes that stay readable at any zoom: nodes grow more slowly than the drawing, letters and lines hardly at all. */
export function sizesAt(zoom: number, fitted: number, nodes: number, lit: number): Sizes {
  const spacing = (tall / Math.sqrt(Math.max(nodes, 12))) * fitted;
  const growth = Math.min(Math.max(Math.sqrt(zoom / fitted), 0.7), 3);
  const node = (Math.min(Math.max(spacing * 0.36, 4), 15) * growth) / zoom;
  const hair = ((spacing < 16 ? 1 : 1.3) * Math.min(growth, 1.6)) / zoom;
  return { node, lit: Math.max(node * 1.2, (lit > few ? 6 : 9) / zoom), hair, pixel: 1 / zoom };
}

function styleOf(drawing: Drawing, colours: Colours, { node, lit, hair, pixel }: Sizes): cytoscape.StylesheetJson {
  const square = (size: number): { width: number; height: number } => ({ width: size, height: size });
  const style: cytoscape.StylesheetJson = [
    { selector: "core", style: { "active-bg-opacity": 0, "selection-box-opacity": 0 } as never },
    {
      selector: "node",
      style: {
        ...square(node * 0.72),
        "background-color": colours.quiet,
        "background-opacity": 0.55,
        "border-width": 0,
        color: colours.text,
        "font-family": "Inter, system-ui, sans-serif",
        "font-size": 11.5 * pixel,
        "text-margin-y": 3 * pixel,
        "text-outline-color": colours.surface,
        "text-valign": "bottom",
        "overlay-opacity": 0,
      },
    },
    {
      selector: "edge",
      style: {
        width: hair,
        "curve-style": "haystack",
        "haystack-radius": 0,
        "line-color": colours.line,
        "overlay-opacity": 0,
        opacity: drawing.nodes.length > 300 ? 0.75 : 1,
      },
    },
    { selector: "node[sensors > 0]", style: { ...square(node), "background-opacity": 1, "z-index": 5 } },
  ];
  drawing.groups.forEach((_, position) => {
    style.push({
      selector: `node[group = ${position}]`,
      style: { "background-color": colourOf(colours, position), shape: shapes[position % shapes.length] as never },
    });
  });
  style.push(
    { selector: "node.dim", style: { opacity: 0.22 } },
    { selector: "edge.dim", style: { opacity: 0.6 } },
    {
      selector: "node.lit",
      style: {
        ...square(lit),
        "border-color": colours.strong,
        "border-opacity": 1,
        "border-width": Math.min(1.6 * pixel, lit * 0.18),
        "background-opacity": 1,
        "z-index": 20,
      },
    },
    { selector: "edge.lit", style: { width: 2 * pixel, "line-color": colours.strong, opacity: 1, "z-index": 15 } },
    {
      selector: "node.chosen",
      style: {
        ...square(lit * 1.25),
        "border-color": colours.accent,
        "border-opacity": 1,
        "border-width": 3 * pixel,
        "background-opacity": 1,
        opacity: 1,
        "z-index": 30,
      },
    },
    { selector: "node.named", style: { label: "data(name)", "text-outline-width": 2.4 * pixel, "z-index": 25 } },
  );
  return style;
}

/** Shows some nodes of the drawing, whatever names are on it, and returns the zoom. */
function fitTo(cy: cytoscape.Core, drawing: Drawing, nodes: readonly DrawnNode[], most: number): number {
  const xs = nodes.map((node) => node.x * tall * drawing.aspect);
  const ys = nodes.map((node) => node.y * tall);
  const range = (values: number[]): [number, number] => values.reduce<[number, number]>(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [[left, right], [top, bottom]] = [range(xs), range(ys)];
  if (left > right) return 1;
  const room = (size: number): number => Math.max(size - 2 * margin, 10);
  const zoom = Math.min(room(cy.width()) / Math.max(right - left, 1), room(cy.height()) / Math.max(bottom - top, 1), most);
  cy.viewport({ zoom, pan: { x: cy.width() / 2 - ((left + right) / 2) * zoom, y: cy.height() / 2 - ((top + bottom) / 2) * zoom } });
  return zoom;
}

/** Moves the drawing if a node lies outside, or where the description of the node covers it. */
function reveal(cy: cytoscape.Core, position: number | undefined): void {
  if (position === undefined) return;
  const { x, y } = cy.getElementById(`n${position}`).renderedPosition();
  const [wide, high] = [cy.width(), cy.height()];
  const by = { x: x < 20 || x > wide - 20 ? wide / 2 - x : 0, y: y < 20 || y > high * 0.44 ? high * 0.28 - y : 0 };
  if (by.x !== 0 || by.y !== 0) cy.panBy(by);
}

/** Names nodes where there is room on the screen: what is open first, then what is lit, then nodes with sensors. */
function name(cy: cytoscape.Core, fitted: number): void {
  const all = cy.nodes().length <= 80 || cy.zoom() > 3 * fitted;
  const { x1, y1, x2, y2 } = cy.extent();
  const pixel = 1 / cy.zoom();
  const rank = (node: cytoscape.NodeSingular): number =>
    node.hasClass("chosen") ? 0 : node.hasClass("lit") ? 1 : Number(node.data("sensors")) > 0 ? 2 : 3;
  const wanted = (all ? cy.nodes() : cy.nodes(cy.nodes(".lit").length > few ? ".chosen" : ".lit, .chosen"))
    .map((node) => ({ node, rank: rank(node), ...node.position() }))
    .filter(({ x, y }) => x >= x1 && x <= x2 && y >= y1 && y <= y2)
    .sort((a, b) => a.rank - b.rank);
  const taken: [number, number, number, number][] = [];
  const named = new Set<string>();
  for (const { node, rank: order, x, y } of wanted) {
    const half = (String(node.data("name")).length * 3.3 + 3) * pixel;
    const top = y + node.height() / 2;
    const box: [number, number, number, number] = [x - half, top, x + half, top + 17 * pixel];
    if (order > 0 && taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    named.add(node.id());
    if (named.size >= 150) break;
  }
  cy.batch(() => {
    cy.nodes(".named").forEach((node) => {
      if (!named.has(node.id()) && !node.hasClass("pointed")) node.removeClass("named");
    });
    for (const id of named) cy.getElementById(id).addClass("named");
  });
}

export function GraphView({ drawing, lit, about, node, theme, onNode, children }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const core = useRef<cytoscape.Core | null>(null);
  const fitted = useRef(1);
  const tell = useRef(onNode);
  tell.current = onNode;
  const [text, setText] = useState("");
  const positions = useMemo(() => new Map(drawing.nodes.map((each, position) => [each.id, position])), [drawing]);
  const litNodes = useMemo(
    () => lit.map((id) => positions.get(id)).filter((position): position is number => position !== undefined),
    [lit, positions],
  );
  const found = useMemo(() => search(drawing.nodes, text), [drawing, text]);

  const colours = useMemo(() => coloursOf(), [theme]);
  const dressed = useRef<{ zoom: number; colours: Colours; many: boolean } | null>(null);
  /** Sizes and names for the present zoom; a drawing that was only moved keeps its sizes. */
  const dress = (cy: cytoscape.Core): void => {
    const zoom = cy.zoom();
    const many = latestLit.current.length > few;
    const last = dressed.current;
    if (last?.zoom !== zoom || last.colours !== latestColours.current || last.many !== many) {
      const sizes = sizesAt(zoom, fitted.current, drawing.nodes.length, latestLit.current.length);
      cy.style(styleOf(drawing, latestColours.current, sizes));
      dressed.current = { zoom, colours: latestColours.current, many };
    }
    name(cy, fitted.current);
  };
  const latestColours = useRef(colours);
  latestColours.current = colours;
  const latestLit = useRef(litNodes);
  latestLit.current = litNodes;

  const fit = (): void => {
    const cy = core.current;
    if (cy === null) return;
    cy.resize();
    fitted.current = fitTo(cy, drawing, drawing.nodes, 2);
    dress(cy);
  };
  const approach = (): void => {
    const nodes = litNodes.flatMap((position) => drawing.nodes[position] ?? []);
    if (core.current !== null) fitTo(core.current, drawing, nodes, Math.max(fitted.current * 6, 1));
  };
  const zoom = (factor: number): void => {
    const cy = core.current;
    if (cy === null) return;
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  };
  const show = (id: string): void => {
    const cy = core.current;
    const position = positions.get(id);
    if (cy === null || position === undefined) return;
    const at = cy.getElementById(`n${position}`).position();
    const level = Math.max(cy.zoom(), fitted.current * (drawing.nodes.length > 150 ? 3 : 1));
    cy.viewport({ zoom: level, pan: { x: cy.width() / 2 - at.x * level, y: cy.height() / 2 - at.y * level } });
  };

  useEffect(() => {
    if (box.current === null) return undefined;
    const cy = cytoscape({
      container: box.current,
      elements: elementsOf(drawing),
      layout: { name: "preset" },
      minZoom: 0.001,
      maxZoom: 100,
      autoungrabify: true,
      autounselectify: true,
      boxSelectionEnabled: false,
      hideEdgesOnViewport: drawing.edges.length > 10_000,
      textureOnViewport: drawing.nodes.length > 400,
    });
    core.current = cy;
    dressed.current = null;
    fit();
    cy.minZoom(fitted.current / 3);
    cy.maxZoom(Math.max(fitted.current * 40, 4));
    let timer = 0;
    cy.on("viewport", () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (!cy.destroyed()) dress(cy);
      }, 150);
    });
    cy.on("tap", (event) => {
      if (event.target === cy) tell.current(null);
    });
    cy.on("tap", "node", (event) => {
      const position = Number(String(event.target.id()).slice(1));
      tell.current(drawing.nodes[position]?.id ?? null);
    });
    cy.on("mouseover", "node", (event) => event.target.addClass("named pointed"));
    cy.on("mouseout", "node", (event) => {
      event.target.removeClass("pointed");
      name(cy, fitted.current);
    });
    let width = box.current.clientWidth;
    let height = box.current.clientHeight;
    const watch = new ResizeObserver(() => {
      if (box.current === null || (box.current.clientWidth === width && box.current.clientHeight === height)) return;
      width = box.current.clientWidth;
      height = box.current.clientHeight;
      if (width > 0 && height > 0) fit();
    });
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      window.clearTimeout(timer);
      core.current = null;
      cy.destroy();
    };
  }, [drawing]);

  useEffect(() => {
    if (core.current !== null) dress(core.current);
  }, [colours, drawing]);

  useEffect(() => {
    const cy = core.current;
    if (cy === null) return;
    cy.batch(() => {
      cy.elements().removeClass("dim lit chosen named");
      if (litNodes.length > 0) {
        const wanted = new Set(litNodes);
        const chosen = cy.nodes().filter((each) => wanted.has(Number(each.id().slice(1))));
        const between = chosen.edgesWith(chosen);
        cy.elements().addClass("dim");
        chosen.removeClass("dim").addClass("lit");
        between.removeClass("dim").addClass("lit");
      }
      const position = node === null ? undefined : positions.get(node);
      if (position !== undefined) cy.getElementById(`n${position}`).removeClass("dim").addClass("chosen");
    });
    dress(cy);
    if (node !== null) reveal(cy, positions.get(node));
  }, [litNodes, node, drawing, theme]);

  const choose = (position: number): void => {
    const id = drawing.nodes[position]?.id;
    if (id === undefined) return;
    show(id);
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
          <button type="button" class="button" title="Show the whole graph" onClick={fit}>
            Fit
          </button>
          {litNodes.length > 0 && (
            <button type="button" class="button" title="Show the part that is lit" onClick={approach}>
              Zoom to lit
            </button>
          )}
        </div>
      </div>
      <div class="graph-stage">
        <div class="graph-box" ref={box} role="img" aria-label={summary} />
        {children}
      </div>
      {about && <p class="graph-about">{about}</p>}
      <ul class="legend" aria-label="Classes of the nodes">
        {drawing.groups.map((group, position) => (
          <li key={group.name}>
            <Mark colour={colourOf(colours, position)} shape={shapes[position % shapes.length] ?? "ellipse"} />
            {group.name} <span class="muted">{whole(group.count)}</span>
          </li>
        ))}
      </ul>
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

function Mark({ colour, shape }: { colour: string; shape: string }): JSX.Element {
  const points: Record<string, string> = {
    rectangle: "1,1 11,1 11,11 1,11",
    triangle: "6,0.5 11.5,11 0.5,11",
    diamond: "6,0 12,6 6,12 0,6",
    hexagon: "3,0.8 9,0.8 12,6 9,11.2 3,11.2 0,6",
    pentagon: "6,0.3 12,4.7 9.7,11.5 2.3,11.5 0,4.7",
    "round-rectangle": "1,3 11,3 11,9 1,9",
    vee: "6,3 12,0.5 6,11.5 0,0.5",
  };
  return (
    <svg class="mark" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      {shape === "ellipse" ? (
        <circle cx="6" cy="6" r="5" fill={colour} />
      ) : (
        <polygon points={points[shape] ?? "1,1 11,1 11,11 1,11"} fill={colour} />
      )}
    </svg>
  );
}
