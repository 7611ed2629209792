// How often a rule applied and held, over the whole period: one bar for each period of time.
import { useState } from "preact/hooks";
import { percent, period, plural, whole } from "../format";
import { useWidth } from "../hooks";
import type { History } from "../types";
import { TimeAxis } from "./axes";
import { CursorLayer, Tip } from "./cursor";
import { linear } from "./scales";

/** The periods as rows of a table. */
export function historyRows(history: History): string[][] {
  return history.applied.map((applied, index) => [
    period(history.edges[index] ?? 0, history.edges[index + 1] ?? 0),
    whole(applied),
    whole(history.held[index]),
    whole(applied - (history.held[index] ?? 0)),
  ]);
}

export function HistoryStrip({ history, shown }: { history: History; shown?: [number, number] | undefined }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [index, setIndex] = useState<number | null>(null);
  const { edges, applied, held } = history;
  const first = edges[0];
  const last = edges.at(-1);
  if (first === undefined || last === undefined || applied.length === 0) return null;
  const gutter = width < 480 ? 44 : 56;
  const x = linear([first, last], [gutter, width - 2]);
  const [top, base] = [14, 58];
  const most = Math.max(1, ...applied);
  const y = linear([0, most], [base, top]);
  const middles = applied.map((_, at) => ((edges[at] as number) + (edges[at + 1] ?? last)) / 2);
  const times = applied.reduce((sum, count) => sum + count, 0);
  const kept = held.reduce((sum, count) => sum + count, 0);
  // Triangles on every second bar would hide the bars: then the colour on top says it alone.
  const marked = applied.filter((count, at) => count > (held[at] ?? 0)).length <= Math.max(6, applied.length / 5);
  const describe = (at: number) =>
    `${period(edges[at] as number, edges[at + 1] ?? last)}: applied ${plural(applied[at] ?? 0, "time")}, held ${plural(held[at] ?? 0, "time")}`;
  const summary = `From ${period(first, last)} it applied ${plural(times, "time")} and held in ${percent(times ? kept / times : null)} of them.`;
  return (
    <div class="plot" ref={ref}>
      <svg viewBox={`0 0 ${width} ${base + 24}`} width={width} height={base + 24} role="img" aria-label={summary}>
        {shown && shown[1] > shown[0] && (
          <g>
            <rect x={x(Math.max(first, shown[0]))} width={Math.max(2, x(Math.min(last, shown[1])) - x(Math.max(first, shown[0])))} y={top - 10} height={base - top + 10} fill="var(--line)" opacity="0.7" />
          </g>
        )}
        {applied.map((count, at) => {
          const from = x(edges[at] as number);
          const wide = Math.max(0.8, x(edges[at + 1] ?? last) - from - (applied.length < width / 5 ? 1 : 0));
          const good = held[at] ?? 0;
          return (
            <g key={at}>
              {good > 0 && <rect x={from} width={wide} y={y(good)} height={base - y(good)} fill="var(--held)" opacity="0.75" />}
              {count > good && <rect x={from} width={wide} y={y(count)} height={Math.max(2, y(good) - y(count))} fill="var(--violated)" />}
              {marked && count > good && <path d={`M${from + wide / 2} ${y(count) - 9}l4 7h-8z`} fill="var(--violated)" />}
            </g>
          );
        })}
        <text x={gutter - 8} y={top + 8} text-anchor="end">
          {whole(most)}
        </text>
        <text x={gutter - 8} y={base} text-anchor="end">
          0
        </text>
        <TimeAxis x={x} y={base} />
        {index !== null && <line class="cursor-line" x1={x(middles[index] as number)} x2={x(middles[index] as number)} y1={top - 10} y2={base} />}
      </svg>
      <CursorLayer times={middles} x={x} width={width} label="Move through the whole period" index={index} onMove={setIndex} describe={describe} />
      {index !== null && (
        <Tip at={x(middles[index] as number) / width}>
          <b>{period(edges[index] as number, edges[index + 1] ?? last)}</b>
          <dl>
            <dt>applied</dt>
            <dd>{plural(applied[index] ?? 0, "time")}</dd>
            <dt>held</dt>
            <dd>{plural(held[index] ?? 0, "time")}</dd>
          </dl>
        </Tip>
      )}
    </div>
  );
}
