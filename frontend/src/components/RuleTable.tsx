// A table of rules: the sentence first, measures on the right; columns sort, rows unfold.
import type { ComponentChildren } from "preact";
import { Fragment } from "preact";
import { useContext } from "preact/hooks";
import { percent, plural, sentence } from "../format";
import type { RuleRow } from "../types";
import { ReviewBadge } from "./ReviewBadge";
import { countsText, measureOf, MeasuresContext, measureText, type Sort } from "./rules";

interface RuleTableProps {
  rules: RuleRow[];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
  open: ReadonlySet<number>;
  onOpen: (id: number) => void;
  onHover?: (id: number | null) => void;
  detail: (rule: RuleRow) => ComponentChildren;
}

export function RuleTable({ rules, sort, onSort, open, onOpen, onHover, detail }: RuleTableProps) {
  const measures = useContext(MeasuresContext);
  return (
    <table class="table rule-table">
      <caption class="sr-only">Rules; columns can be sorted, rows unfold</caption>
      <thead>
        <tr>
          <th scope="col">Rule</th>
          {measures.map(({ name, label, help }) => {
            const active = sort?.by === name;
            const next: Sort | null = !active ? { by: name, descending: true } : sort.descending ? { by: name, descending: false } : null;
            return (
              <th key={name} scope="col" class={`num measure ${name}`} aria-sort={active ? (sort.descending ? "descending" : "ascending") : "none"}>
                <button type="button" class="sort" title={help} onClick={() => onSort(next)}>
                  <span class="arrow" aria-hidden="true">
                    {active ? (sort.descending ? "↓" : "↑") : ""}
                  </span>
                  {sentence(label)}
                </button>
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>
        {rules.map((rule) => {
          const shown = open.has(rule.id);
          return (
            <Fragment key={rule.id}>
              <tr class={shown ? "open" : ""} onPointerEnter={onHover && (() => onHover(rule.id))} onPointerLeave={onHover && (() => onHover(null))}>
                <td class="sentence">
                  <button type="button" class="unfold" aria-expanded={shown} onClick={() => onOpen(rule.id)} onFocus={onHover && (() => onHover(rule.id))} onBlur={onHover && (() => onHover(null))}>
                    <svg class="caret" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
                      <path d="M3 1l4 4-4 4" fill="none" stroke="currentColor" stroke-width="1.6" />
                    </svg>
                    <span dir="auto">{sentence(rule.sentence)}</span>
                  </button>
                  {rule.members.length > 1 && <span class="badge plain">+{plural(rule.members.length - 1, "variant")}</span>}
                  <ReviewBadge review={rule.review} />
                </td>
                {measures.map((column) => (
                  <td key={column.name} class={`num measure ${column.name}`}>
                    {measureText(rule, column)}
                  </td>
                ))}
              </tr>
              {shown && (
                <tr class="detail">
                  <td colSpan={1 + measures.length}>{detail(rule)}</td>
                </tr>
              )}
            </Fragment>
          );
        })}
      </tbody>
    </table>
  );
}

/** What a row unfolds to, apart from the evidence. */
export function RuleDetail({ rule, children }: { rule: RuleRow; children?: ComponentChildren }) {
  const measures = useContext(MeasuresContext);
  const confidence = measureOf(rule, "confidence");
  const base = rule.n > 0 ? rule.n_consequent / rule.n : null;
  return (
    <div class="rule-detail">
      <dl class="pairs">
        <dt>Formal</dt>
        <dd>
          <code dir="auto">{rule.formal}</code>
        </dd>
        <dt>Counts</dt>
        <dd>
          {countsText(rule)}
          {base !== null && confidence !== null && (
            <div class="against">
              <Bar share={base} label="in all rows" colour="var(--faint)" />
              <Bar share={confidence} label="with the condition" colour="var(--held)" />
            </div>
          )}
        </dd>
        <dt class="narrow">Measures</dt>
        <dd class="narrow">
          {measures.map((column) => `${sentence(column.label)} ${measureText(rule, column)}`).join(" · ")}
        </dd>
        {rule.places && (
          <>
            <dt>Places</dt>
            <dd dir="auto">{rule.places}</dd>
          </>
        )}
        {rule.pattern && !rule.formal.includes(rule.pattern) && (
          <>
            <dt>Pattern</dt>
            <dd>
              <code dir="auto">{rule.pattern}</code>
            </dd>
          </>
        )}
        {rule.likewise.length > 0 && (
          <>
            <dt>Variants</dt>
            <dd>
              <ul>
                {rule.likewise.map((text, at) => (
                  <li key={at} dir="auto">
                    {text}
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
        {rule.also.length > 0 && (
          <>
            <dt>Also</dt>
            <dd>
              <ul>
                {rule.also.map((text, at) => (
                  <li key={at} dir="auto">
                    {text}
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
        {rule.review?.note && (
          <>
            <dt>Note</dt>
            <dd dir="auto">{rule.review.note}</dd>
          </>
        )}
      </dl>
      {children}
    </div>
  );
}

function Bar({ share, label, colour }: { share: number; label: string; colour: string }) {
  return (
    <div class="against-row">
      <span class="small muted">{label}</span>
      <svg width="100%" height="8" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="8" fill="var(--line)" />
        <rect width={share * 100} height="8" fill={colour} />
      </svg>
      <span class="num small">{percent(share)}</span>
    </div>
  );
}
