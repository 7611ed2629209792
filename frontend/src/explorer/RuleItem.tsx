// One rule of a list: its sentence, how sure it is, and what people said of it.
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { ReviewBadge } from "../components/ReviewBadge";
import { measureOf, MeasuresContext, measureText } from "../components/rules";
import { percent } from "../format";
import type { RuleRow } from "../types";
import { sentence } from "./words";

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

export function RuleText({ rule, children }: { rule: RuleRow; children?: ComponentChildren }): JSX.Element {
  const measures = useContext(MeasuresContext);
  const more = rule.likewise.length + rule.also.length;
  return (
    <>
      <span class="sentence">
        <bdi>{sentence(rule.sentence)}</bdi>
      </span>
      {children}
      <span class="measures">
        <ShareBar share={measureOf(rule, "confidence")} name="confidence" />
        {measures
          .filter(({ name }) => name !== "confidence")
          .map((column) => (
            <span key={column.name} class={column.name}>
              {column.label} <span class="num">{measureText(rule, column)}</span>
            </span>
          ))}
        {more > 0 && <span>+ {more} alike</span>}
        <ReviewBadge review={rule.review} />
      </span>
    </>
  );
}
