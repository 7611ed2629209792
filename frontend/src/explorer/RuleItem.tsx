// One rule of a list: its sentence, how sure it is, and what people said of it.
import type { ComponentChildren, JSX } from "preact";
import { ReviewBadge } from "../components/ReviewBadge";
import { fixed, percent } from "../format";
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
  const more = rule.likewise.length + rule.also.length;
  return (
    <>
      <span class="sentence">
        <bdi>{sentence(rule.sentence)}</bdi>
      </span>
      {children}
      <span class="measures">
        <ShareBar share={rule.confidence} name="confidence" />
        <span>
          support <span class="num">{percent(rule.support)}</span>
        </span>
        <span class="lift">
          lift <span class="num">{fixed(rule.lift, 2)}</span>
        </span>
        <span>
          Zhang <span class="num">{fixed(rule.zhang, 2)}</span>
        </span>
        {more > 0 && <span>+ {more} alike</span>}
        <ReviewBadge review={rule.review} />
      </span>
    </>
  );
}
