// The series of an evidence card: small multiples over one time axis, with what held and what was violated.
import { useId, useState } from "preact/hooks";
import { moment, number, quantity } from "../format";
import { useWidth } from "../hooks";
import type { Band, Span, Trace } from "../types";
import { TimeAxis } from "./axes";
import { CursorLayer, Tip } from "./cursor";
import { dataDigits, extent, linear, numberTicks, type Scale } from "./scales";

interface Panel {
  trace: Trace;
  /** The lines of the title. */
  title: string[];
  role: string;
  /** Whether the role stands on a line of its own. */
  below: boolean;
  top: number;
  bottom: number;
  y: Scale;
}

const LINE = 15;
const GAP = 12;
const LETTER = 6.4;
const RUG = 16;

/** The value of a trace at a position, in words. */
export function valueText(trace: Trace, index: number): string {
  const value = trace.values[index];
  if (value === null || value === undefined) return "no reading";
  if (trace.states.length > 0) return trace.states[value] ?? number(value);
  return quantity(value, trace.unit);
}

/** The range of the axis: the readings, and the edges of the bands that lie near them. */
function domainOf(trace: Trace): [number, number] {
  const values = extent(trace.values) ?? [0, 1];
  let [low, high] = values;
  const span = high - low || Math.abs(high) || 1;
  for (const band of trace.bands) {
    for (const edge of [band.low, band.high]) {
      if (edge === null || edge < low - span || edge > high + span) continue;
      low = Math.min(low, edge);
      high = Math.max(high, edge);
    }
  }
  const pad = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - pad, high + pad];
}

function panelsOf(traces: Trace[], width: number): [Panel[], number] {
  let top = 4;
  const room = Math.max(12, Math.floor(width / LETTER));
  const panels = traces.map((trace) => {
    const title = trace.unit ? `${trace.name} (${trace.unit})` : trace.name;
    const role = trace.role && trace.role !== trace.name ? trace.role : "";
    const below = role !== "" && title.length + role.length + 2 > room;
    const titles = wrap(title, Math.floor(room * 0.92), 3);
    const lines = titles.length + (below ? 1 : 0) + (trace.bands.length > 0 ? 1 : 0);
    const states = trace.states.length;
    const height = states > 0 ? Math.min(6, Math.max(2, states)) * 20 : traces.length < 3 ? 104 : traces.length > 5 ? 58 : 74;
    const from = top + lines * LINE + 9;
    const bottom = from + height;
    top = bottom + GAP;
    const domain: [number, number] = states > 0 ? [-0.6, states - 0.4] : domainOf(trace);
    return { trace, title: titles, role: below ? shorten(role, room) : role, below, top: from, bottom, y: linear(domain, [bottom, from]) };
  });
  return [panels, top];
}

function linePath(trace: Trace, x: Scale, y: Scale, step: boolean): string {
  let path = "";
  let open = false;
  let before = 0;
  trace.values.forEach((value, index) => {
    if (value === null) {
      open = false;
      return;
    }
    const [at, level] = [x(trace.times[index] as number).toFixed(1), y(value).toFixed(1)];
    if (!open) {
      // A reading between two gaps is a line of no length, which the round cap shows as a dot.
      path += `M${at} ${level}h0`;
    } else {
      path += step ? `H${at}${before === value ? "" : `V${level}`}` : `L${at} ${level}`;
    }
    open = true;
    before = value;
  });
  return path;
}

function bandRect(band: Band, { trace, top, bottom, y }: Panel): { y: number; height: number }[] {
  if (trace.states.length > 0) {
    return band.states.flatMap((state) => {
      const at = trace.states.indexOf(state);
      if (at < 0) return [];
      const from = Math.max(top, y(at + 0.5));
      return [{ y: from, height: Math.min(bottom, y(at - 0.5)) - from }];
    });
  }
  if (band.low === null && band.high === null) return [];
  const clamp = (value: number) => Math.min(bottom, Math.max(top, value));
  const from = band.high === null ? top : clamp(y(band.high));
  const to = band.low === null ? bottom : clamp(y(band.low));
  return to - from < 4 ? [{ y: (from + to) / 2 - 2, height: 4 }] : [{ y: from, height: to - from }];
}

function bandText(band: Band): string {
  return /^(if|then)\b/i.test(band.text) ? band.text : `${band.side} ${band.text}`;
}

/** The step between readings: periods reach to the end of their last window. */
function stepOf(times: readonly number[]): number {
  let step = Infinity;
  for (let index = 1; index < times.length; index += 1) {
    const gap = (times[index] as number) - (times[index - 1] as number);
    if (gap > 0 && gap < step) step = gap;
  }
  return Number.isFinite(step) ? step : 0;
}

const inside = (time: number, periods: readonly Span[]) => periods.some(({ start, end }) => time >= start && (time < end || time === start));

/** Whether it held all the time: then the bar below says it, and shading would only dim the picture. */
export function heldThroughout({ traces, held, violated }: { traces: Trace[]; held: Span[]; violated: Span[] }): boolean {
  const times = traces[0]?.times ?? [];
  const covered = held.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
  return violated.length === 0 && times.length > 1 && covered > 0.97 * ((times.at(-1) as number) - (times[0] as number));
}

export interface TraceChartProps {
  traces: Trace[];
  held: Span[];
  violated: Span[];
  switches?: number[];
  summary: string;
  /** What the row below the series is about: "rule", "law", "control". */
  about?: string;
}

export function TraceChart({ traces, held, violated, switches = [], summary, about = "rule" }: TraceChartProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const [index, setIndex] = useState<number | null>(null);
  const hatch = useId();
  const times = traces[0]?.times ?? [];
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return null;
  const step = stepOf(times);
  // Room for the names of states, up to a point.
  const names = traces.flatMap((trace) => trace.states.map((state) => state.length));
  const gutter = Math.max(width < 480 ? 44 : 56, Math.min(width * 0.22, 110, Math.max(0, ...names) * 6.6 + 12));
  const x = linear([first, Math.max(last + (step < (last - first) ? step : 0), first + 1)], [gutter, width - 2]);
  const [panels, end] = panelsOf(traces, width);
  const verdicts = held.length > 0 || violated.length > 0;
  const rug = end - GAP + 8;
  const base = verdicts ? rug + RUG : end - GAP + 2;
  const height = base + 24;
  const areaTop = (panels[0]?.top ?? 0) - 2;
  const clip = (value: number) => Math.min(x.range[1], Math.max(x.range[0], x(value)));
  const span = ({ start, end: stop }: Span) => {
    const from = clip(start);
    return { x: from, width: Math.max(1.5, clip(Math.max(stop, start)) - from) };
  };
  const throughout = heldThroughout({ traces, held, violated });
  const verdict = (time: number) => (inside(time, violated) ? "violated" : inside(time, held) ? "held" : verdicts ? "does not apply" : "");
  const describe = (at: number) => {
    const time = times[at] as number;
    const state = verdict(time);
    return [moment(time), ...traces.map((trace) => `${trace.name}: ${valueText(trace, at)}`), ...(state ? [state] : [])].join("; ");
  };
  const now = index === null ? null : (times[index] ?? null);
  return (
    <div class="plot" ref={ref}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={summary}>
        <defs>
          <pattern id={hatch} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="5" height="5" fill="var(--violated-soft)" />
            <rect width="1.4" height="5" fill="var(--violated)" opacity="0.55" />
          </pattern>
        </defs>
        {panels.map((panel, at) => (
          <g key={at}>
            {!throughout && held.map((period, part) => (
              <rect key={part} {...span(period)} y={panel.top} height={panel.bottom - panel.top} fill="var(--held-soft)" />
            ))}
            <TracePanel panel={panel} x={x} width={width} index={index} />
            {violated.map((period, part) => (
              <rect key={part} {...span(period)} y={panel.top} height={panel.bottom - panel.top} fill={`url(#${hatch})`} />
            ))}
          </g>
        ))}
        {verdicts && (
          <g>
            <text x={gutter - 8} y={rug + 12} text-anchor="end">
              {about}
            </text>
            {held.map((period, at) => (
              <rect key={at} {...span(period)} y={rug + 4} height={8} fill="var(--held)" />
            ))}
            {violated.map((period, at) => {
              const { x: from, width: wide } = span(period);
              const middle = from + wide / 2;
              return (
                <g key={at} fill="var(--violated)">
                  <rect x={from} width={wide} y={rug + 10} height={2} />
                  <path d={`M${middle} ${rug + 1}l5 9h-10z`} />
                </g>
              );
            })}
          </g>
        )}
        {switches.map((time, at) => (
          <path key={at} d={panels.map(({ top, bottom }) => `M${clip(time).toFixed(1)} ${top}V${bottom}`).join("")} stroke="var(--muted)" stroke-dasharray="2 3" fill="none" />
        ))}
        <TimeAxis x={x} y={base} />
        {now !== null && <line class="cursor-line" x1={x(now)} x2={x(now)} y1={areaTop} y2={base} />}
      </svg>
      <CursorLayer times={times} x={x} width={width} label="Move through time" index={index} onMove={setIndex} describe={describe} />
      {now !== null && index !== null && (
        <Tip at={x(now) / width} top={areaTop}>
          <b>{moment(now)}</b>
          <dl>
            {traces.map((trace, at) => (
              <>
                <dt key={`t${at}`}>{trace.name}</dt>
                <dd key={`d${at}`}>{valueText(trace, index)}</dd>
              </>
            ))}
          </dl>
          {verdict(now) && <span class={`verdict ${verdict(now).replace(/ /g, "-")}`}>{verdict(now)}</span>}
        </Tip>
      )}
    </div>
  );
}

function TracePanel({ panel, x, width, index }: { panel: Panel; x: Scale; width: number; index: number | null }) {
  const { trace, title, role, below, top, bottom, y } = panel;
  const states = trace.states.length > 0;
  const left = x.range[0];
  const right = x.range[1];
  const ticks = states
    ? trace.states.slice(0, 6).map((state, at) => ({ value: at, at: y(at), label: shorten(state, Math.max(6, Math.floor((left - 8) / 6.4))) }))
    : numberTicks(y, bottom - top > 90 ? 4 : 3);
  const value = index === null ? null : (trace.values[index] ?? null);
  const room = Math.max(12, Math.floor(width / LETTER));
  const bands = trace.bands.length > 0;
  // Bands that name every state would shade all of the picture.
  const shaded = !states || trace.states.some((state) => !trace.bands.some((band) => band.states.includes(state)));
  return (
    <g>
      <text class="strong" x={0} y={top - 9 - LINE * ((bands ? 1 : 0) + (below ? 1 : 0) + title.length - 1)}>
        {title.map((line, at) => (
          <tspan key={at} {...(at ? { x: 0, dy: LINE } : {})}>
            {line}
          </tspan>
        ))}
        {role && !below && (
          <tspan class="role" dx="8">
            {role}
          </tspan>
        )}
      </text>
      {below && (
        <text x={0} y={top - 9 - (bands ? LINE : 0)}>
          {role}
        </text>
      )}
      {bands && (
        <text x={0} y={top - 9} class="band-text">
          {trace.bands.map((band, at) => (
            <tspan key={at} class={band.side} dx={at ? 10 : 0}>
              {shorten(bandText(band), Math.floor(room / trace.bands.length))}
            </tspan>
          ))}
        </text>
      )}
      {shaded && trace.bands.map((band, at) =>
        bandRect(band, panel).map((box, part) => (
          <g key={`${at}-${part}`}>
            <rect x={left} width={right - left} y={box.y} height={box.height} fill={`var(--${band.side}-soft)`} />
            <rect x={left - 3} width={3} y={box.y} height={box.height} fill={`var(--${band.side})`} />
          </g>
        )),
      )}
      <g class="axis" aria-hidden="true">
        {ticks.map((tick) => (
          <g key={tick.value}>
            <line x1={left} x2={right} y1={tick.at} y2={tick.at} />
            <text x={left - 8} y={tick.at + 4} text-anchor="end">
              {tick.label}
            </text>
          </g>
        ))}
      </g>
      <path d={linePath(trace, x, y, states)} fill="none" stroke="var(--series)" stroke-width={states ? 2 : 1.5} stroke-linejoin="round" stroke-linecap="round" />
      {value !== null && index !== null && <circle cx={x(trace.times[index] as number)} cy={y(value)} r="3.5" fill="var(--bg)" stroke="var(--ink)" stroke-width="1.5" />}
    </g>
  );
}

/** A text in at most so many lines of so many characters, broken between words; the last is shortened. */
export function wrap(text: string, room: number, most: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > room && lines.length < most - 1) {
    const at = rest.lastIndexOf(" ", room);
    if (at <= 0) break;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at + 1);
  }
  return [...lines, shorten(rest, room)];
}

/** A text of at most so many characters. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** The rows of a card as a table: times, values, and whether the rule held. */
export function traceRows({ traces, held, violated }: { traces: Trace[]; held: Span[]; violated: Span[] }): string[][] {
  const times = traces[0]?.times ?? [];
  return times.map((time, index) => [
    moment(time),
    ...traces.map((trace) => (trace.states.length > 0 ? valueText(trace, index) : number(trace.values[index], dataDigits(domainOf(trace))))),
    inside(time, violated) ? "violated" : inside(time, held) ? "held" : "",
  ]);
}

