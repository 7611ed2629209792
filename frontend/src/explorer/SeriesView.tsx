// Series of several sensors on one time axis: drag to choose a period, or zoom and move by wheel, keys and buttons.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { linear, numberTicks, timeTicks } from "../charts/scales";
import { moment, number, period as periodText, quantity } from "../format";
import { useWidth } from "../hooks";
import type { Envelope, SeriesPage, Span } from "../types";
import { useAnswer } from "./answers";
import { api } from "./api";
import { ProblemNote, Waiting } from "./notes";
import { moved, scaled, within } from "./time_view";
import type { Period } from "./time_view";

interface Props {
  run: number;
  sensors: readonly string[];
  /** Only series of these kinds are shown; all, if there are none. */
  kinds?: readonly string[];
  /** Periods of the evidence card, drawn below the series. */
  held?: readonly Span[];
  violated?: readonly Span[];
}

const left = 56;
const right = 10;
const tall = 76;
const gap = 26;
const foot = 24;
const least = 60_000;

interface Drawn {
  path: string;
  area: string;
  ticks: [number, string][];
}

/** The outline of a series between the lowest and the highest readings, broken where readings are missing; states are steps. */
export function outline(series: Envelope, x: (time: number) => number, y: (value: number) => number): { path: string; area: string } {
  const states = series.states.length > 0;
  const paths: string[] = [];
  const areas: string[] = [];
  let open: [number, number, number][] = [];
  const points = (level: (low: number, high: number) => number): string[] => {
    const plain = open.map(([at, low, high]) => [at, level(low, high)] as const);
    const steps = plain.flatMap(([at, height], position) => (position === 0 ? [[at, height] as const] : [[at, (plain[position - 1] as readonly [number, number])[1]] as const, [at, height] as const]));
    return (states ? steps : plain).map(([at, height]) => `${at.toFixed(1)},${height.toFixed(1)}`);
  };
  const close = (): void => {
    if (open.length === 0) return;
    const middle = points((low, high) => (states ? low : (low + high) / 2));
    paths.push(open.length === 1 ? `M${middle[0]}h0.01` : `M${middle.join("L")}`);
    const [top, bottom] = [points((_, high) => high), points((low) => low).reverse()];
    areas.push(`M${top.join("L")}L${bottom.join("L")}Z`);
    open = [];
  };
  series.times.forEach((time, position) => {
    const low = series.low[position];
    const high = series.high[position];
    if (low === null || low === undefined || high === null || high === undefined) close();
    else open.push([x(time), y(low), y(high)]);
  });
  close();
  return { path: paths.join(""), area: areas.join("") };
}

function rangeOf(series: Envelope): [number, number] {
  if (series.states.length > 0) return [-0.4, series.states.length - 0.6];
  let low = Infinity;
  let high = -Infinity;
  for (const value of series.low) if (value !== null && value < low) low = value;
  for (const value of series.high) if (value !== null && value > high) high = value;
  if (low > high) return [0, 1];
  return low === high ? [low - Math.abs(low) * 0.1 - 0.5, high + Math.abs(high) * 0.1 + 0.5] : [low, high];
}

function drawn(series: Envelope, x: (time: number) => number, top: number): Drawn {
  const y = linear(rangeOf(series), [top + tall, top]);
  const ticks: [number, string][] =
    series.states.length > 0
      ? series.states.slice(0, 6).map((state, position) => [y(position), state])
      : numberTicks(y, 3).map(({ at, label }) => [at, label]);
  return { ...outline(series, x, y), ticks };
}

/** What a series reads at a moment, in words. */
export function readingAt(series: Envelope, time: number): string {
  let best = -1;
  series.times.forEach((each, position) => {
    if (each <= time) best = position;
  });
  const low = series.low[Math.max(best, 0)] ?? null;
  const high = series.high[Math.max(best, 0)] ?? null;
  if (low === null || high === null) return "no reading";
  if (series.states.length > 0) {
    const names = series.states.slice(Math.round(low), Math.round(high) + 1);
    return names.join(", ");
  }
  return low === high ? quantity(low, series.unit) : `${number(low)} to ${quantity(high, series.unit)}`;
}

export function SeriesView({ run, sensors, kinds = [], held = [], violated = [] }: Props): JSX.Element {
  const [box, width] = useWidth<HTMLDivElement>(640);
  const [period, setPeriod] = useState<Period | null>(null);
  const [whole, setWhole] = useState<Period | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [pointer, setPointer] = useState<number | null>(null);
  const surface = useRef<HTMLDivElement>(null);
  const names = sensors.join("\n");
  const points = Math.max(100, Math.round((width - left - right) / 1.5 / 50) * 50);
  useEffect(() => {
    setPeriod(null);
    setWhole(null);
  }, [run, names]);
  const answer = useAnswer<SeriesPage>(
    sensors.length > 0 ? (signal) => api.series(run, sensors, period, points, signal) : null,
    [run, names, period?.start, period?.end, points],
    { pause: 120, keep: true },
  );
  useEffect(() => {
    if (answer.value !== null && period === null) setWhole({ start: answer.value.start, end: answer.value.end });
  }, [answer.value]);

  const shown = period ?? whole;
  const plotted = width - left - right;
  const x = (time: number): number => (shown ? left + ((time - shown.start) / Math.max(shown.end - shown.start, 1)) * plotted : left);
  const timeAt = (at: number): number =>
    shown ? shown.start + ((Math.min(Math.max(at, left), width - right) - left) / plotted) * (shown.end - shown.start) : 0;
  const series = useMemo(() => {
    const all = answer.value?.series ?? [];
    const wanted = all.filter((each) => kinds.includes(each.kind));
    return wanted.length > 0 ? wanted : all;
  }, [answer.value, kinds.join("\n")]);
  const rug = held.length + violated.length > 0 ? 18 : 0;
  const height = series.length * (tall + gap) + rug + foot;
  const lines = useMemo(
    () => (shown === null ? [] : series.map((each, position) => drawn(each, x, gap - 6 + position * (tall + gap)))),
    [series, shown?.start, shown?.end, width],
  );
  const show = (next: Period): void => {
    if (whole === null) return;
    const inside = within(next, whole, least);
    setPeriod(inside.start === whole.start && inside.end === whole.end ? null : inside);
  };
  const zoom = (factor: number, about?: number): void => {
    if (shown !== null) show(scaled(shown, factor, about ?? (shown.start + shown.end) / 2));
  };
  const move = (share: number): void => {
    if (shown !== null) show(moved(shown, share));
  };
  const latest = useRef(zoom);
  latest.current = zoom;
  const latestTime = useRef(timeAt);
  latestTime.current = timeAt;
  useEffect(() => {
    const element = surface.current;
    if (element === null) return undefined;
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== element) return;
      event.preventDefault();
      const at = event.clientX - element.getBoundingClientRect().left;
      latest.current(event.deltaY > 0 ? 1.25 : 0.8, latestTime.current(at));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [series.length > 0]);

  if (answer.problem) return <ProblemNote problem={answer.problem} />;
  if (shown === null || series.length === 0)
    return <div ref={box}>{answer.waiting ? <Waiting>Reading the series…</Waiting> : <p class="muted">No series to show.</p>}</div>;
  const ticks = timeTicks(linear([shown.start, shown.end], [left, width - right]), Math.floor(plotted / 90));
  const at = (event: PointerEvent): number => event.clientX - (surface.current?.getBoundingClientRect().left ?? 0);
  const bottom = height - foot - rug;
  const label = `Series of ${series.map((each) => each.name).join(", ")}, ${periodText(shown.start, shown.end)}`;
  return (
    <div class="series" ref={box}>
      <div class="series-tools">
        <p class="small num period">{periodText(shown.start, shown.end)}</p>
        <div class="buttons" role="group" aria-label="Period of the series">
          <button type="button" class="button icon" aria-label="Earlier" title="Earlier (←)" disabled={period === null} onClick={() => move(-0.5)}>
            ←
          </button>
          <button type="button" class="button icon" aria-label="Later" title="Later (→)" disabled={period === null} onClick={() => move(0.5)}>
            →
          </button>
          <button type="button" class="button icon" aria-label="Zoom out" title="Zoom out (−)" disabled={period === null} onClick={() => zoom(2)}>
            −
          </button>
          <button type="button" class="button icon" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(0.5)}>
            +
          </button>
          <button type="button" class="button" title="The whole period (0)" disabled={period === null} onClick={() => setPeriod(null)}>
            Whole period
          </button>
        </div>
      </div>
      <div
        ref={surface}
        class="series-surface figure"
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={`${label}. Plus and minus zoom, arrows move, 0 shows the whole period.`}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([at(event), at(event)]);
        }}
        onPointerMove={(event) => {
          setPointer(at(event));
          if (drag !== null) setDrag([drag[0], at(event)]);
        }}
        onPointerUp={(event) => {
          if (drag !== null && Math.abs(at(event) - drag[0]) > 6) {
            const [a, b] = [timeAt(drag[0]), timeAt(at(event))];
            show({ start: Math.min(a, b), end: Math.max(a, b) });
          }
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}
        onPointerLeave={() => setPointer(null)}
        onDblClick={() => setPeriod(null)}
        onKeyDown={(event) => {
          if (event.key === "+" || event.key === "=") zoom(0.5);
          else if (event.key === "-") zoom(2);
          else if (event.key === "ArrowLeft") move(-0.25);
          else if (event.key === "ArrowRight") move(0.25);
          else if (event.key === "0" || (event.key === "Escape" && period !== null)) setPeriod(null);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" class={answer.waiting ? "stale" : ""}>
          <g class="axis">
            {ticks.map((tick) => (
              <g key={tick.value} transform={`translate(${tick.at},0)`}>
                <line y1={gap - 6} y2={bottom} />
                <text y={height - 7} text-anchor="middle">
                  {tick.label}
                </text>
              </g>
            ))}
          </g>
          {series.map((each, position) => {
            const top = gap - 6 + position * (tall + gap);
            const lined = lines[position];
            return (
              <g key={each.sensor}>
                <text class="strong" x={left} y={top - 7}>
                  {each.name}
                  <tspan class="series-unit">{`  ${[each.kind === each.name ? "" : each.kind, each.unit].filter(Boolean).join(", ")}`}</tspan>
                </text>
                <g class="axis">
                  {lined?.ticks.map(([y, text]) => (
                    <g key={text}>
                      <line x1={left} x2={width - right} y1={y} y2={y} />
                      <text x={left - 7} y={y + 4} text-anchor="end">
                        {text.length > 8 ? `${text.slice(0, 7)}…` : text}
                      </text>
                    </g>
                  ))}
                </g>
                <svg x={left} y={top - 2} width={plotted} height={tall + 4} viewBox={`${left} ${top - 2} ${plotted} ${tall + 4}`}>
                  <path class="series-area" d={lined?.area ?? ""} />
                  <path class="series-line" d={lined?.path ?? ""} />
                </svg>
              </g>
            );
          })}
          {rug > 0 && (
            <svg x={left} y={bottom} width={plotted} height={rug} viewBox={`${left} ${bottom} ${plotted} ${rug}`}>
              {held.map((each) => (
                <rect key={each.start} class="series-held" x={x(each.start)} y={bottom + 7} height={5} width={Math.max(1, x(each.end) - x(each.start))} />
              ))}
              {violated.map((each) => {
                const middle = (x(each.start) + x(each.end)) / 2;
                return <path key={each.start} class="series-violated" d={`M${middle} ${bottom + 2}l5 10h-10z`} />;
              })}
            </svg>
          )}
          {drag !== null && Math.abs(drag[1] - drag[0]) > 2 && (
            <rect class="series-drag" x={Math.max(left, Math.min(...drag))} width={Math.abs(Math.min(Math.max(drag[1], left), width - right) - drag[0])} y={gap - 6} height={bottom - gap + 6} />
          )}
          {pointer !== null && pointer >= left && pointer <= width - right && drag === null && (
            <line class="cursor-line" x1={pointer} x2={pointer} y1={gap - 6} y2={bottom} />
          )}
        </svg>
        {pointer !== null && pointer >= left && pointer <= width - right && drag === null && (
          <div class="tip" style={pointer > width / 2 ? { right: `${width - pointer + 12}px` } : { left: `${pointer + 12}px` }}>
            <b>{moment(Math.round(timeAt(pointer) / 60_000) * 60_000)}</b>
            <dl>
              {series.map((each) => (
                <>
                  <dt key={`${each.sensor} name`}>{each.name}</dt>
                  <dd key={each.sensor}>{readingAt(each, timeAt(pointer))}</dd>
                </>
              ))}
            </dl>
          </div>
        )}
      </div>
      <p class="muted small hint">
        Drag to choose a period; a double click shows all. With Ctrl, or once the chart was clicked, the wheel zooms.
        {rug > 0 && " Below the series: where the rule held (bar) and where it did not (triangles), within the period of the evidence."}
      </p>
    </div>
  );
}
