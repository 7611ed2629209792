// Rules as points: support against confidence, coloured by Zhang's measure. A click chooses a rule, a drag a region.
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { fixed, number } from "../format";
import { useWidth } from "../hooks";
import { Tip } from "./cursor";
import { extent, linear, numberTicks, ramp } from "./scales";
import { Ramp } from "./Ramp";
import { shorten } from "./TraceChart";

export interface ScatterPoint {
  id: number;
  x: number | null;
  y: number | null;
  colour: number | null;
  title: string;
}

export interface Region {
  x: [number, number];
  y: [number, number];
}

interface ScatterProps {
  points: ScatterPoint[];
  /** The points that are drawn in full; the others are dimmed. Null: all. */
  lit: ReadonlySet<number> | null;
  chosen: number | null;
  region: Region | null;
  onChoose: (id: number | null) => void;
  onRegion: (region: Region | null) => void;
  onHover?: (id: number | null) => void;
}

const inRange = (value: number, [low, high]: [number, number]) => value >= low && value <= high;

/** Whether a point lies in a region. */
export function inRegion(x: number | null, y: number | null, region: Region | null): boolean {
  return region === null || (x !== null && y !== null && inRange(x, region.x) && inRange(y, region.y));
}

/** The range of an axis of shares: a little wider than the points, and never so narrow that rounding shows. */
function padded(range: [number, number] | null): [number, number] {
  const [least, most] = range ?? [0, 1];
  const spare = Math.max(0, 0.05 - (most - least));
  const [low, high] = [Math.max(0, least - spare), most];
  const pad = (high - low || 0.05) * 0.06;
  return [Math.max(0, low - pad), high + pad];
}

export function Scatter({ points, lit, chosen, region, onChoose, onRegion, onHover }: ScatterProps) {
  const [ref, width] = useWidth<HTMLDivElement>(520);
  const [active, setActive] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number, number, number] | null>(null);
  const from = useRef<[number, number] | null>(null);
  const id = useId();
  const drawn = useMemo(
    () => points.filter((p): p is ScatterPoint & { x: number; y: number } => p.x !== null && p.y !== null).sort((a, b) => a.x - b.x || a.y - b.y),
    [points],
  );
  const height = Math.min(380, Math.max(260, width * 0.68));
  const [left, right, top, bottom] = [48, width - 8, 24, height - 44];
  const x = linear(padded(extent(drawn.map((p) => p.x))), [left, right]);
  const y = linear(padded(extent(drawn.map((p) => p.y))), [bottom, top]);
  const lowest = Math.min(0.9, ...drawn.flatMap((p) => (p.colour === null ? [] : [p.colour])));
  const low = Math.max(-1, Math.floor(lowest * 10) / 10);
  const shade = (value: number | null) => (value === null ? "var(--bg)" : ramp((value - low) / (1 - low)));
  const place = (event: PointerEvent): [number, number] => {
    const box = (ref.current as HTMLDivElement).getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.width) * width];
  };
  const closest = ([px, py]: [number, number]): number | null => {
    let [best, gap]: [number | null, number] = [null, 12 ** 2];
    drawn.forEach((p, at) => {
      const far = (x(p.x) - px) ** 2 + (y(p.y) - py) ** 2 - (lit === null || lit.has(p.id) ? 4 : 0);
      if (far < gap) [best, gap] = [at, far];
    });
    return best;
  };
  const hover = (at: number | null) => {
    setActive(at);
    onHover?.(at === null ? null : (drawn[at]?.id ?? null));
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    from.current = place(event);
  };
  const move = (event: PointerEvent) => {
    const now = place(event);
    const start = from.current;
    if (start && Math.hypot(now[0] - start[0], now[1] - start[1]) > 5) {
      (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
      setDrag([Math.min(start[0], now[0]), Math.min(start[1], now[1]), Math.max(start[0], now[0]), Math.max(start[1], now[1])]);
      hover(null);
    } else {
      hover(closest(now));
    }
  };
  const up = (event: PointerEvent) => {
    from.current = null;
    if (drag) {
      onRegion({ x: [x.invert(drag[0]), x.invert(drag[2])], y: [y.invert(drag[3]), y.invert(drag[1])] });
      setDrag(null);
      return;
    }
    const at = closest(place(event));
    const rule = at === null ? null : (drawn[at]?.id ?? null);
    onChoose(rule === chosen ? null : rule);
    if (rule === null) onRegion(null);
  };
  const key = (event: KeyboardEvent) => {
    const now = active ?? -1;
    const steps: Record<string, number> = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: drawn.length - 1, PageDown: now + 10, PageUp: now - 10 };
    if (event.key in steps) {
      hover(Math.min(drawn.length - 1, Math.max(0, steps[event.key] as number)));
    } else if (event.key === "Enter" || event.key === " ") {
      const rule = active === null ? null : (drawn[active]?.id ?? null);
      onChoose(rule === chosen ? null : rule);
    } else if (event.key === "Escape") {
      onChoose(null);
      onRegion(null);
      hover(null);
    } else {
      return;
    }
    event.preventDefault();
  };
  const over = active === null ? undefined : drawn[active];
  const box = drag ?? (region ? [x(region.x[0]), y(region.y[1]), x(region.x[1]), y(region.y[0])] : null);
  return (
    <div class="scatter">
      <div class="plot" ref={ref}>
        <svg
          class="listbox"
          viewBox={`0 0 ${width} ${height}`}
          width={width}
          height={height}
          role="listbox"
          tabIndex={0}
          aria-label="Rules by support and confidence. Arrow keys move from rule to rule, Enter shows the rule in the table."
          {...(active === null ? {} : { "aria-activedescendant": `${id}-${active}` })}
          onKeyDown={key}
          onBlur={() => hover(null)}
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={up}
          onPointerLeave={() => hover(null)}
        >
          <g role="presentation" aria-hidden="true">
            <rect class="frame" x={left} y={top} width={Math.max(0, right - left)} height={bottom - top} fill="transparent" stroke="none" />
            {numberTicks(y, 5).filter(({ value }) => value <= 1).map(({ value, at, label }) => (
              <g key={value} class="axis">
                <line x1={left} x2={right} y1={at} y2={at} />
                <text x={left - 8} y={at + 4} text-anchor="end">
                  {label}
                </text>
              </g>
            ))}
            {numberTicks(x, width < 420 ? 4 : 6).filter(({ value }) => value <= 1).map(({ value, at, label }) => (
              <g key={value} class="axis">
                <line x1={at} x2={at} y1={top} y2={bottom + 4} />
                <text x={at} y={bottom + 18} text-anchor="middle">
                  {label}
                </text>
              </g>
            ))}
            <text class="strong" x={right} y={bottom + 36} text-anchor="end">
              support →
            </text>
            <text class="strong" x={0} y={top - 13}>
              ↑ confidence
            </text>
          </g>
          {drawn.map((p, at) => {
            const on = lit === null || lit.has(p.id);
            return (
              <circle
                key={p.id}
                id={`${id}-${at}`}
                class="option"
                role="option"
                aria-selected={p.id === chosen}
                aria-label={`${p.title}. Support ${number(p.x, 3)}, confidence ${number(p.y, 3)}.`}
                cx={x(p.x)}
                cy={y(p.y)}
                r={p.id === chosen ? 7 : 4.5}
                fill={shade(p.colour)}
                stroke={p.id === chosen ? "var(--ink)" : "var(--muted)"}
                stroke-width={p.id === chosen ? 2.5 : 0.8}
                opacity={on ? 0.92 : 0.14}
              />
            );
          })}
          {over && <circle role="presentation" cx={x(over.x)} cy={y(over.y)} r="8" fill="none" stroke="var(--ink)" stroke-width="1.5" />}
          {box && <rect role="presentation" x={box[0]} y={box[1]} width={Math.max(0, (box[2] as number) - (box[0] as number))} height={Math.max(0, (box[3] as number) - (box[1] as number))} fill="var(--accent)" fill-opacity="0.08" stroke="var(--accent)" stroke-dasharray="4 3" />}
        </svg>
        {over && (
          <Tip at={x(over.x) / width} top={Math.max(0, y(over.y) - 12)}>
            <div>{shorten(over.title, 160)}</div>
            <dl>
              <dt>support</dt>
              <dd>{number(over.x, 3)}</dd>
              <dt>confidence</dt>
              <dd>{number(over.y, 3)}</dd>
              <dt>Zhang</dt>
              <dd>{fixed(over.colour)}</dd>
            </dl>
          </Tip>
        )}
      </div>
      <Ramp title="Zhang" from={number(low, 2)} to="1" />
    </div>
  );
}
