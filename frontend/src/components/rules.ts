// Rules narrowed down and put in order: plain functions.
import { inRegion, type Region } from "../charts/Scatter";
import { plural, percent, whole } from "../format";
import type { RuleRow } from "../types";

export type Measure = "support" | "confidence" | "lift" | "zhang";
export const MEASURES: { name: Measure; label: string; help: string }[] = [
  { name: "support", label: "Support", help: "The share of all rows in which condition and conclusion are true" },
  { name: "confidence", label: "Confidence", help: "The share of the rows with the condition in which the conclusion is true" },
  { name: "lift", label: "Lift", help: "Confidence divided by how often the conclusion is true anyway" },
  { name: "zhang", label: "Zhang", help: "Strength of the association, from −1 to 1; 0 is none" },
];

export interface Sort {
  by: Measure;
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
  /** Also rules that are told with another one of their family. */
  families: boolean;
}

export const NO_FILTER: Filter = { text: "", kinds: [], confidence: null, support: null, lift: null, cell: null, region: null, chosen: null, families: false };

/** Whether any choice narrows the rules. */
export function isFiltered(filter: Filter): boolean {
  return filter.text.trim() !== "" || filter.kinds.length > 0 || [filter.confidence, filter.support, filter.lift, filter.cell, filter.region, filter.chosen].some((choice) => choice !== null);
}

const atLeast = (value: number | null, least: number | null) => least === null || (value !== null && value >= least);

/** The rules that a filter lets through, given the rules that have its words. */
export function filtered(rules: readonly RuleRow[], filter: Filter, having: ReadonlySet<number>): RuleRow[] {
  return rules.filter((rule) => {
    if (filter.chosen !== null) return rule.id === filter.chosen;
    if (!filter.families && rule.shown_with !== null && filter.cell === null) return false;
    if (!atLeast(rule.confidence, filter.confidence) || !atLeast(rule.support, filter.support) || !atLeast(rule.lift, filter.lift)) return false;
    if (!filter.kinds.every((kind) => rule.kinds.includes(kind))) return false;
    if (filter.cell !== null && !(rule.quantities_if.includes(filter.cell[0]) && rule.quantity_then === filter.cell[1])) return false;
    return inRegion(rule.support, rule.confidence, filter.region) && having.has(rule.id);
  });
}

/** The rules in the order of a measure; rules without a value come last. Without a measure the order of the run stays. */
export function sorted(rules: readonly RuleRow[], sort: Sort | null): RuleRow[] {
  if (sort === null) return [...rules];
  const sign = sort.descending ? -1 : 1;
  return [...rules].sort((a, b) => {
    const [x, y] = [a[sort.by], b[sort.by]];
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
