// Rules narrowed down and put in order: plain functions.
import { inRegion, type Region } from "../charts/Scatter";
import { createContext } from "preact";
import { fixed, number, plural, percent, whole } from "../format";
import type { MeasureColumn, RuleRow } from "../types";

/** The measures that the page shows. */
export const MeasuresContext = createContext<readonly MeasureColumn[]>([]);

/** A measure of a rule; null for none. */
export function measureOf(rule: RuleRow, name: string): number | null {
  return rule.measures[name] ?? null;
}

/** A measure as text. */
export function measureText(rule: RuleRow, { name, percent: share }: MeasureColumn, digits?: number): string {
  const value = measureOf(rule, name);
  if (share) return percent(value, digits);
  return value !== null && value >= 100 ? number(value, 3) : fixed(value, digits);
}

export interface Sort {
  by: string;
  descending: boolean;
}

export interface Filter {
  text: string;
  kinds: string[];
  confidence: number | null;
  support: number | null;
  lift: number | null;
  cell: [string, string] | null;
  region: Region | null;
  chosen: number | null;
}

export const NO_FILTER: Filter = { text: "", kinds: [], confidence: null, support: null, lift: null, cell: null, region: null, chosen: null };

/** Whether any choice narrows the rules. */
export function isFiltered(filter: Filter): boolean {
  return filter.text.trim() !== "" || filter.kinds.length > 0 || [filter.confidence, filter.support, filter.lift, filter.cell, filter.region, filter.chosen].some((choice) => choice !== null);
}

const atLeast = (value: number | null, least: number | null) => least === null || (value !== null && value >= least);

/** Whether a filter lets a rule through, apart from its words. */
export function passes(rule: RuleRow, filter: Filter): boolean {
  if (filter.chosen !== null) return rule.id === filter.chosen;
  if ((["confidence", "support", "lift"] as const).some((name) => !atLeast(measureOf(rule, name), filter[name]))) return false;
  if (!filter.kinds.every((kind) => rule.kinds.includes(kind))) return false;
  if (filter.cell !== null && !(rule.quantities_if.includes(filter.cell[0]) && rule.quantity_then === filter.cell[1])) return false;
  return inRegion(measureOf(rule, "support"), measureOf(rule, "confidence"), filter.region);
}

/** Whether a filter lets a law or a control through, apart from its words: it has a share, but no support and no lift. */
export function passesLogic(row: { kinds: readonly string[] }, share: number | null, filter: Filter): boolean {
  if ([filter.support, filter.lift, filter.cell, filter.region, filter.chosen].some((choice) => choice !== null)) return false;
  return atLeast(share, filter.confidence) && filter.kinds.every((kind) => row.kinds.includes(kind));
}

/** The rules in the order of a measure; rules without a value come last. Without a measure the order of the run stays. */
export function sorted(rules: readonly RuleRow[], sort: Sort | null): RuleRow[] {
  if (sort === null) return [...rules];
  const sign = sort.descending ? -1 : 1;
  return [...rules].sort((a, b) => {
    const [x, y] = [measureOf(a, sort.by), measureOf(b, sort.by)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return sign * (x - y);
  });
}

/** The counts of a rule, in words. */
export function countsText(rule: RuleRow): string {
  const rows = plural(rule.n, "row");
  const anyway = rule.n > 0 ? percent(rule.n_consequent / rule.n) : "–";
  return `The condition is true in ${whole(rule.n_antecedent)} of ${rows}, and in ${whole(rule.n_both)} of these the conclusion is true too. The conclusion is true in ${whole(rule.n_consequent)} of all rows (${anyway}).`;
}
