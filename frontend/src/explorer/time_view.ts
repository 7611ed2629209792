// The period that series are shown for: zooming and moving it, within the whole period.

export interface Period {
  start: number;
  end: number;
}

/** A period moved into the whole one and no longer than it; never shorter than `least` milliseconds. */
export function within(period: Period, whole: Period, least: number): Period {
  const length = Math.min(Math.max(period.end - period.start, least), whole.end - whole.start);
  const middle = (period.start + period.end) / 2;
  let start = period.end - period.start === length ? period.start : middle - length / 2;
  start = Math.min(Math.max(start, whole.start), whole.end - length);
  return { start: Math.round(start), end: Math.round(start + length) };
}

/** A period scaled about a moment in it: below 1 zooms in, above 1 zooms out. */
export function scaled(period: Period, factor: number, about: number): Period {
  return { start: about - (about - period.start) * factor, end: about + (period.end - about) * factor };
}

/** A period moved by a share of its length. */
export function moved(period: Period, share: number): Period {
  const by = (period.end - period.start) * share;
  return { start: period.start + by, end: period.end + by };
}
