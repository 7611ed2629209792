// Scales, ticks and colour ramps: plain functions.
import { scaleLinear, scaleUtc } from "d3-scale";
import { tickLabel } from "../format";

export interface Scale {
  (value: number): number;
  invert(position: number): number;
  domain: [number, number];
  range: [number, number];
}

export interface Tick {
  value: number;
  at: number;
  label: string;
}

/** A linear scale; a domain of one value is widened so that the value lies in its middle. */
export function linear(domain: [number, number], range: [number, number]): Scale {
  const [low, high] = domain[0] === domain[1] ? [domain[0] - (Math.abs(domain[0]) || 1), domain[1] + (Math.abs(domain[1]) || 1)] : domain;
  const factor = (range[1] - range[0]) / (high - low);
  const scale = ((value: number) => range[0] + (value - low) * factor) as Scale;
  scale.invert = (position) => low + (position - range[0]) / factor;
  scale.domain = [low, high];
  scale.range = range;
  return scale;
}

/** Ticks of a linear scale at round numbers. */
export function numberTicks(scale: Scale, count: number): Tick[] {
  const d3 = scaleLinear().domain(scale.domain);
  const format = d3.tickFormat(count);
  return d3.ticks(count).map((value) => ({ value, at: scale(value), label: format(value) }));
}

/** Ticks of a time scale at round times in UTC. */
export function timeTicks(scale: Scale, count: number): Tick[] {
  const ticks = scaleUtc().domain(scale.domain).ticks(Math.max(2, count));
  const step = ticks.length > 1 ? Number(ticks[1]) - Number(ticks[0]) : scale.domain[1] - scale.domain[0];
  return ticks.map((tick) => ({ value: Number(tick), at: scale(Number(tick)), label: tickLabel(Number(tick), step) }));
}

/** The position of the time nearest to a value in a sorted list. */
export function nearest(times: readonly number[], value: number): number {
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) <= value) low = middle;
    else high = middle;
  }
  return Math.abs((times[high] ?? Infinity) - value) < Math.abs((times[low] ?? Infinity) - value) ? high : low;
}

/** The lowest and highest number of a list that may have gaps. */
export function extent(values: readonly (number | null)[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// From dark blue over grey to yellow, even in lightness; told apart by all kinds of colour vision, also in grey.
const RAMP: [number, number, number][] = [
  [0, 32, 77],
  [44, 63, 109],
  [87, 92, 110],
  [125, 124, 120],
  [165, 156, 116],
  [209, 192, 96],
  [253, 232, 62],
];

/** A colour of the ramp for a share between 0 and 1. */
export function ramp(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
  const index = Math.min(RAMP.length - 2, Math.floor(at));
  const [from, to] = [RAMP[index] as [number, number, number], RAMP[index + 1] as [number, number, number]];
  const mix = (k: 0 | 1 | 2) => Math.round(from[k] + (to[k] - from[k]) * (at - index));
  return `rgb(${mix(0)} ${mix(1)} ${mix(2)})`;
}

/** The colour of the n-th group; groups beyond the last colour share the grey. */
export function groupColour(index: number): string {
  return `var(--c${index >= 0 && index < 7 ? index : 7})`;
}

/** How many significant digits tell the values of a range apart. */
export function dataDigits(domain: [number, number]): number {
  const span = domain[1] - domain[0];
  const size = Math.max(Math.abs(domain[0]), Math.abs(domain[1]));
  if (!(span > 0) || !(size > 0)) return 4;
  return Math.min(9, Math.max(4, Math.ceil(Math.log10(size / span)) + 3));
}
