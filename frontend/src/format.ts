// Numbers, dates and plurals as people read them. English, the same on every machine: no use of the browser's locale.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const NONE = "–";
const MINUS = "−";

/** A whole number with thousands separated: 12,345. */
export function whole(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const text = Math.abs(Math.round(value))
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return Math.round(value) < 0 ? MINUS + text : text;
}

/** A number with as many significant digits as asked for, without a needless exponent. */
export function number(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : MINUS + "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toExponential(Math.max(0, digits - 2)).replace("-", MINUS);
  if (size >= 10 ** digits) return whole(value);
  let text = size.toPrecision(digits);
  if (text.includes("e")) text = Number(text).toString();
  if (text.includes(".")) text = text.replace(/\.?0+$/, "");
  const [before = "", after] = text.split(".");
  const grouped = before.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return (value < 0 ? MINUS : "") + (after === undefined ? grouped : `${grouped}.${after}`);
}

/** A number with a fixed number of decimals. */
export function fixed(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** A number with its unit. */
export function quantity(value: number | null | undefined, unit: string): string {
  const text = number(value);
  return unit && text !== NONE ? `${text}\u00a0${unit}` : text;
}

/** A share between 0 and 1 in percent: 100 % and 0 % are said only if they are exact. */
export function percent(share: number | null | undefined, decimals = 1): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  if (share === 0 || share === 1) return `${share * 100}\u00a0%`;
  const step = 10 ** -decimals;
  let text = (share * 100).toFixed(decimals);
  if (Number(text) >= 100 && share < 1) text = (100 - step).toFixed(decimals);
  if (Number(text) <= 0 && share > 0) return `<\u00a0${step.toFixed(decimals)}\u00a0%`;
  return `${text}\u00a0%`;
}

/** A text in which no line ends between a number and its percent sign, or within "± 0.3". */
export function unbroken(text: string): string {
  return text.replace(/(\d) %/g, "$1\u00a0%").replace(/± (?=\d)/g, "±\u00a0");
}

/** A sentence of the library with a capital letter, if it begins with a common word and not with a name. */
export function sentence(text: string): string {
  const common = /^(for|if|while|when|whenever|where|the|in|at|its|a|an|all|every|each|no|some|places|rules|laws) /.test(text);
  return unbroken(common ? text.charAt(0).toUpperCase() + text.slice(1) : text);
}

/** A name of the data with spaces in place of underscores, as sentences have it. */
export function words(name: string): string {
  return name.replace(/_+/g, " ").trim() || name;
}

/** "1 rule", "2 rules". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

const two = (value: number) => value.toString().padStart(2, "0");

/** "3 Feb 2021". */
export function day(time: number): string {
  const date = new Date(time);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** "14:05", with seconds if there are any. */
export function clock(time: number): string {
  const date = new Date(time);
  const seconds = date.getUTCSeconds();
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}${seconds ? `:${two(seconds)}` : ""}`;
}

/** "3 Feb 2021, 14:05". */
export function moment(time: number): string {
  return `${day(time)}, ${clock(time)}`;
}

/** A period: "3 Feb 2021, 14:05 – 16:00", "3 Feb – 9 Mar 2021". */
export function period(start: number, end: number): string {
  if (day(start) === day(end)) return `${day(start)}, ${clock(start)}${end > start ? ` – ${clock(end)}` : ""}`;
  if (end - start < 3 * 86_400_000) return `${moment(start)} – ${moment(end)}`;
  const [a, b] = [new Date(start), new Date(end)];
  const first =
    a.getUTCFullYear() === b.getUTCFullYear() ? `${a.getUTCDate()} ${MONTHS[a.getUTCMonth()]}` : day(start);
  return `${first} – ${day(end)}`;
}

/** A duration in the largest unit that fits: "3 days", "5 min", "3 min 28 s". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  if (seconds < 1) return seconds === 0 ? "0 s" : `${number(seconds, 2)} s`;
  if (seconds < 120 && seconds % 60 !== 0) return `${number(seconds, 3)} s`;
  if (seconds < 7200 && seconds % 3600 !== 0) {
    const rest = Math.round(seconds) % 60;
    return `${Math.floor(Math.round(seconds) / 60)} min${rest ? ` ${rest} s` : ""}`;
  }
  if (seconds < 172_800) return `${number(seconds / 3600, 3)} h`;
  return `${number(seconds / 86_400, 3)} days`;
}

/** How often something comes: "every minute", "every 5 min". */
export function every(seconds: number): string {
  const unit = { 1: "second", 60: "minute", 3600: "hour", 86400: "day", 604800: "week" }[seconds];
  return unit ? `every ${unit}` : `every ${duration(seconds)}`;
}

/** A label of a time axis whose ticks are `step` milliseconds apart. */
export function tickLabel(time: number, step: number): string {
  const date = new Date(time);
  const short = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  if (step < 86_400_000) return date.getUTCHours() === 0 && date.getUTCMinutes() === 0 ? short : clock(time);
  if (step < 28 * 86_400_000) return short;
  const month = MONTHS[date.getUTCMonth()] ?? "";
  if (step < 360 * 86_400_000) return date.getUTCMonth() === 0 ? `${date.getUTCFullYear()}` : month;
  return `${date.getUTCFullYear()}`;
}
