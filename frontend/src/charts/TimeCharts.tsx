// Charts over the whole period: where readings are missing, how much of the data the rules cover, scores of a detector.
import { useState } from "preact/hooks";
import { moment, number, percent, period, words } from "../format";
import { useWidth } from "../hooks";
import type { Detected, Gaps } from "../types";
import { LeftAxis, TimeAxis } from "./axes";
import { CursorLayer, Tip } from "./cursor";
import { linear, numberTicks } from "./scales";
import { shorten } from "./TraceChart";

const middlesOf = (edges: readonly number[]) => edges.slice(1).map((edge, at) => (edge + (edges[at] as number)) / 2);

export function GapsChart({ gaps }: { gaps: Gaps }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [index, setIndex] = useState<number | null>(null);
  const { edges, rows } = gaps;
  const [first, last] = [edges[0], edges.at(-1)];
  if (first === undefined || last === undefined || rows.length === 0) return null;
  const longest = Math.max(...rows.map((row) => row.name.length));
  const gutter = Math.min(width * 0.34, 240, longest * 6.4 + 14);
  const high = rows.length <= 12 ? 20 : rows.length <= 40 ? 15 : Math.max(3, Math.round(420 / rows.length));
  const x = linear([first, last], [gutter, width - 2]);
  const base = rows.length * high + 2;
  const named = high >= 12;
  const middles = middlesOf(edges);
  const worst = rows.reduce((a, b) => (meanPresent(b) < meanPresent(a) ? b : a));
  const summary = `Readings that are there, ${period(first, last)}. Least complete: ${worst.name} with ${percent(meanPresent(worst))}.`;
  const silent = silentSpans(gaps);
  const describe = (at: number) => {
    const low = rows.filter((row) => (row.present[at] ?? 1) < 1);
    const parts = low.slice(0, 6).map((row) => `${row.name} ${percent(row.present[at])}`);
    return `${period(edges[at] as number, edges[at + 1] as number)}: ${parts.length > 0 ? `present ${parts.join(", ")}${low.length > 6 ? ` and ${low.length - 6} more with gaps` : ""}` : "all present"}`;
  };
  return (
    <div class="plot" ref={ref}>
      <svg viewBox={`0 0 ${width} ${base + 24}`} width={width} height={base + 24} role="img" aria-label={summary}>
        {silent.map(([from, to]) => (
          <rect key={from} x={x(edges[from] as number)} width={x(edges[to] as number) - x(edges[from] as number)} y={0} height={base} fill="var(--line)" opacity="0.7" />
        ))}
        {rows.map((row, at) => (
          <g key={at} transform={`translate(0 ${at * high})`}>
            {named && (
              <text x={gutter - 8} y={high / 2 + 3.5} text-anchor="end" class={high < 16 ? "tiny" : ""}>
                {shorten(words(row.name), Math.max(4, Math.floor((gutter - 8) / 6.4)))}
              </text>
            )}
            {runs(row.present, silent).map(([from, to, share]) => {
              if (share === null || (share <= 0 && silent.some(([start, end]) => from >= start && to <= end))) return null;
              const left = x(edges[from] as number);
              const wide = Math.max(0.7, x(edges[to] as number) - left + 0.3);
              return (
                <g key={from}>
                  <rect x={left} width={wide} y={1} height={high - (named ? 3 : 0.6)} fill="var(--present)" opacity={share <= 0 ? 0 : 0.25 + 0.75 * share} />
                  {share <= 0 && <rect x={left} width={wide} y={high / 2 - 1} height={Math.min(2, high / 2)} fill="var(--violated)" opacity="0.6" />}
                </g>
              );
            })}
          </g>
        ))}
        <TimeAxis x={x} y={base} />
        {index !== null && <line class="cursor-line" x1={x(middles[index] as number)} x2={x(middles[index] as number)} y1={0} y2={base} />}
      </svg>
      <CursorLayer times={middles} x={x} width={width} label="Move through the period" index={index} onMove={setIndex} describe={describe} />
      {index !== null && (
        <Tip at={x(middles[index] as number) / width}>
          <b>{period(edges[index] as number, edges[index + 1] as number)}</b>
          <dl>
            {rows
              .filter((row) => row.present[index] !== null)
              .sort((a, b) => (a.present[index] ?? 1) - (b.present[index] ?? 1))
              .slice(0, 5)
              .map((row, at) => (
                <>
                  <dt key={`t${at}`}>{shorten(row.name, 28)}</dt>
                  <dd key={`d${at}`}>{percent(row.present[index])}</dd>
                </>
              ))}
          </dl>
        </Tip>
      )}
    </div>
  );
}

/** The share of the time of a row in which it has readings. */
export function meanPresent({ present }: { present: readonly (number | null)[] }): number {
  const there = present.filter((share): share is number => share !== null);
  return there.reduce((sum, share) => sum + share, 0) / Math.max(1, there.length);
}

/** The periods in which no row has a reading, joined: positions of edges. */
export function silentSpans({ rows, edges }: Gaps): [number, number][] {
  const shares = edges.slice(1).map((_, at) => (rows.some((row) => (row.present[at] ?? 0) > 0) ? 1 : 0));
  return runs(shares).flatMap(([from, to, share]) => (share === 0 ? [[from, to] as [number, number]] : []));
}

/** Neighbouring periods with the same share as one: from, to, share in steps of a twentieth; null where there is no time. */
function runs(present: readonly (number | null)[], cuts: readonly [number, number][] = []): [number, number, number | null][] {
  const ends = new Set(cuts.flat());
  const found: [number, number, number | null][] = [];
  present.forEach((value, at) => {
    const share = value === null ? null : value <= 0 ? 0 : value >= 1 ? 1 : Math.min(0.95, Math.max(0.05, Math.round(value * 20) / 20));
    const before = found.at(-1);
    if (before && before[2] === share && !ends.has(at)) before[1] = at + 1;
    else found.push([at, at + 1, share]);
  });
  return found;
}

interface ShareProps {
  edges: number[];
  shares: (number | null)[];
  what: string;
  colour?: string;
}

/** A share over time as bars. */
export function ShareChart({ edges, shares, what, colour = "var(--held)" }: ShareProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [index, setIndex] = useState<number | null>(null);
  const [first, last] = [edges[0], edges.at(-1)];
  if (first === undefined || last === undefined || shares.length === 0) return null;
  const [left, base, top] = [48, 130, 10];
  const x = linear([first, last], [left, width - 2]);
  const y = linear([0, 1], [base, top]);
  const middles = middlesOf(edges);
  const there = shares.filter((share): share is number => share !== null);
  const mean = there.length > 0 ? there.reduce((sum, share) => sum + share, 0) / there.length : null;
  const text = (at: number) => `${period(edges[at] as number, edges[at + 1] as number)}: ${shares[at] === null || shares[at] === undefined ? "no data" : percent(shares[at])}`;
  return (
    <div class="plot" ref={ref}>
      <svg viewBox={`0 0 ${width} ${base + 24}`} width={width} height={base + 24} role="img" aria-label={`${what}, ${period(first, last)}: on average ${percent(mean)}.`}>
        <LeftAxis x={left} right={width - 2} ticks={[0, 0.5, 1].map((value) => ({ value, at: y(value), label: percent(value, 0) }))} />
        {shares.map((share, at) => {
          if (share === null) return null;
          const from = x(edges[at] as number);
          return <rect key={at} x={from} width={Math.max(0.8, x(edges[at + 1] ?? last) - from - (shares.length < width / 5 ? 1 : -0.3))} y={y(share)} height={Math.max(0.5, base - y(share))} fill={colour} opacity="0.75" />;
        })}
        <TimeAxis x={x} y={base} />
        {index !== null && <line class="cursor-line" x1={x(middles[index] as number)} x2={x(middles[index] as number)} y1={top} y2={base} />}
      </svg>
      <CursorLayer times={middles} x={x} width={width} label="Move through the period" index={index} onMove={setIndex} describe={text} />
      {index !== null && (
        <Tip at={x(middles[index] as number) / width}>
          <b>{period(edges[index] as number, edges[index + 1] as number)}</b>
          <div>{shares[index] === null ? "no data" : percent(shares[index])}</div>
        </Tip>
      )}
    </div>
  );
}

/** The score of a detector over time, with its threshold and its alarms. */
export function ScoreChart({ detected, chosen, onChoose }: { detected: Detected; chosen: number | null; onChoose: (alarm: number | null) => void }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [index, setIndex] = useState<number | null>(null);
  const { times, score, threshold, alarms } = detected;
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return null;
  const [left, base, top] = [48, 210, 22];
  const x = linear([first, Math.max(last, first + 1)], [left, width - 2]);
  const highest = Math.max(threshold * 1.6, ...score.map((value) => value ?? 0));
  const y = linear([0, highest * 1.04], [base, top]);
  let path = "";
  let open = false;
  score.forEach((value, at) => {
    if (value === null) {
      open = false;
      return;
    }
    path += `${open ? "L" : "M"}${x(times[at] as number).toFixed(1)} ${y(value).toFixed(1)}${open ? "" : "h0"}`;
    open = true;
  });
  const clip = (value: number) => Math.min(width - 2, Math.max(left, x(value)));
  const summary = `Score over ${period(first, last)}, at most ${number(highest, 3)}; threshold ${number(threshold, 3)}; ${alarms.length} alarm${alarms.length === 1 ? "" : "s"}.`;
  const describe = (at: number) => `${moment(times[at] as number)}: score ${number(score[at], 3)}${(score[at] ?? 0) > threshold ? ", above the threshold" : ""}`;
  return (
    <div class="plot" ref={ref}>
      <svg viewBox={`0 0 ${width} ${base + 24}`} width={width} height={base + 24} role="img" aria-label={summary}>
        <LeftAxis x={left} right={width - 2} ticks={numberTicks(y, 4)} />
        {alarms.map((alarm, at) => (
          <g key={at}>
            <rect x={clip(alarm.start)} width={Math.max(2, clip(alarm.end) - clip(alarm.start))} y={top} height={base - top} fill="var(--violated-soft)" opacity={chosen === null || chosen === at ? 1 : 0.45} />
            <path d={`M${clip(alarm.start)} ${top - 2}l-5 -9h10z`} fill="var(--violated)" onClick={() => onChoose(chosen === at ? null : at)} />
          </g>
        ))}
        <path d={path} fill="none" stroke="var(--series)" stroke-width="1.4" stroke-linejoin="round" stroke-linecap="round" />
        <line x1={left} x2={width - 2} y1={y(threshold)} y2={y(threshold)} stroke="var(--violated)" stroke-dasharray="5 4" />
        <text x={width - 2} y={y(threshold) - 5} text-anchor="end" class="alert">
          threshold
        </text>
        <TimeAxis x={x} y={base} />
        {index !== null && <line class="cursor-line" x1={x(times[index] as number)} x2={x(times[index] as number)} y1={top} y2={base} />}
      </svg>
      <CursorLayer times={times} x={x} width={width} label="Move through time" index={index} onMove={setIndex} describe={describe} />
      {index !== null && (
        <Tip at={x(times[index] as number) / width}>
          <b>{moment(times[index] as number)}</b>
          <div>score {number(score[index], 3)}</div>
        </Tip>
      )}
    </div>
  );
}
