// One finding of a list: a rule or a law as its sentence, a control as a card, with how often it was seen.
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { ControlLine } from "../components/ControlLine";
import { ReviewBadge } from "../components/ReviewBadge";
import { measureOf, MeasuresContext, measureText } from "../components/rules";
import { percent, plural, whole } from "../format";
import type { ControlRow, LawRow, RuleRow } from "../types";
import { sentence } from "./words";

export type FindingRow = RuleRow | LawRow | ControlRow;

/** What tells a finding of a run from all others. */
export const idOf = ({ kind, id }: FindingRow): string => `${kind} ${id}`;

/** A share as a short bar with its number; the number says it, the bar shows it. */
export function ShareBar({ share, name }: { share: number | null; name: string }): JSX.Element {
  return (
    <span class="share">
      <span class="share-bar" aria-hidden="true">
        <span style={{ inlineSize: `${100 * Math.min(Math.max(share ?? 0, 0), 1)}%` }} />
      </span>
      <span>
        {name} <span class="num">{percent(share)}</span>
      </span>
    </span>
  );
}

export function FindingText({ row, children }: { row: FindingRow; children?: ComponentChildren }): JSX.Element {
  return (
    <>
      <span class="sentence">{row.kind === "control" ? <ControlLine control={row} /> : <bdi>{sentence(row.sentence)}</bdi>}</span>
      {children}
      <span class="measures">
        {row.kind === "rule" && <RuleMeasures rule={row} />}
        {row.kind === "law" && (
          <>
            <ShareBar share={row.share} name="held in" />
            <span>
              at <span class="num">{whole(row.places_held)}</span> of {plural(row.places, "place")}
            </span>
            {row.exceptions.length > 0 && <span class="badge bad">{plural(row.exceptions.length, "exception")}</span>}
          </>
        )}
        {row.kind === "control" && (
          <ShareBar share={row.switches > 0 ? row.explained / row.switches : null} name={`${whole(row.explained)} of ${plural(row.switches, "switch", "switches")}`} />
        )}
        <ReviewBadge review={row.review} />
      </span>
    </>
  );
}

function RuleMeasures({ rule }: { rule: RuleRow }): JSX.Element {
  const measures = useContext(MeasuresContext);
  const variants = rule.members.length - 1;
  return (
    <>
      <ShareBar share={measureOf(rule, "confidence")} name="confidence" />
      {measures
        .filter(({ name }) => name !== "confidence")
        .map((column) => (
          <span key={column.name} class={column.name}>
            {column.label} <span class="num">{measureText(rule, column)}</span>
          </span>
        ))}
      {variants > 0 && <span class="badge plain">+{plural(variants, "variant")}</span>}
    </>
  );
}
