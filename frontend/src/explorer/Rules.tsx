// The rules of the present filter, page by page.
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { MeasuresContext } from "../components/rules";
import { plural, whole } from "../format";
import type { RulePage } from "../types";
import type { Answer } from "./answers";
import { List } from "./List";
import type { Place, Query } from "./location";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { RuleText } from "./RuleItem";
import { sentence } from "./words";

export const perPage = 50;

interface Props {
  place: Place;
  page: Answer<RulePage>;
  selected: ReadonlySet<number>;
  onSelect: (id: number, chosen: boolean) => void;
  onSelectPage: (chosen: boolean) => void;
  onOpen: (id: number) => void;
  onPage: (page: number) => void;
  onQuery: (query: Query) => void;
}

export function Rules({ place, page, selected, onSelect, onSelectPage, onOpen, onPage, onQuery }: Props): JSX.Element {
  const { value, problem, waiting } = page;
  const measures = useContext(MeasuresContext);
  const { query } = place;
  const current = value?.rules.findIndex((rule) => place.subject?.about === "rule" && rule.id === place.subject.id) ?? -1;
  const all = value !== null && value.rules.length > 0 && value.rules.every((rule) => selected.has(rule.id));
  return (
    <>
      <div class="list-tools">
        <p class="count" aria-live="polite">
          {value === null ? "\u00a0" : <b>{plural(value.total, "rule")}</b>}
          {selected.size > 0 && <span class="muted">, {whole(selected.size)} ticked</span>}
        </p>
        <label class="order">
          <span class="sr-only">Order of the rules</span>
          <select
            class="input"
            value={query.sort}
            onChange={(event) => onQuery({ ...query, sort: event.currentTarget.value, descending: true })}
          >
            <option value="">Order to read in</option>
            {measures.map(({ name, label }) => (
              <option key={name} value={name}>
                {sentence(label)}
              </option>
            ))}
          </select>
        </label>
        {query.sort !== "" && (
          <button
            type="button"
            class="button plain"
            title={query.descending ? "The highest first" : "The lowest first"}
            aria-label={query.descending ? "The highest first; show the lowest first" : "The lowest first; show the highest first"}
            onClick={() => onQuery({ ...query, descending: !query.descending })}
          >
            {query.descending ? "↓" : "↑"}
          </button>
        )}
      </div>
      {problem && <ProblemNote problem={problem} />}
      {value === null && waiting && <Waiting>Looking for rules…</Waiting>}
      {value !== null && value.rules.length === 0 && !waiting && (query.q === "" || value.controls.length + value.laws.length === 0) && (
        <Nothing title="No rule fits.">
          <p>Take a filter away, or use fewer words.</p>
        </Nothing>
      )}
      {value !== null && value.rules.length > 0 && (
        <>
          <label class="tick-page small muted">
            <input type="checkbox" checked={all} onChange={(event) => onSelectPage(event.currentTarget.checked)} />
            Tick all on this page, to export them
          </label>
          <List
            label="Rules"
            items={value.rules}
            keyOf={(rule) => rule.id}
            current={current}
            busy={waiting}
            onOpen={(rule) => onOpen(rule.id)}
            classOf={(rule) => (rule.review?.verdict === "rejected" ? "rejected" : "")}
            before={(rule, reachable) => (
              <input
                type="checkbox"
                class="tick"
                tabIndex={reachable ? 0 : -1}
                checked={selected.has(rule.id)}
                aria-label={`Tick for export: ${rule.sentence}`}
                onChange={(event) => onSelect(rule.id, event.currentTarget.checked)}
              />
            )}
          >
            {(rule) => <RuleText rule={rule} />}
          </List>
          <Pager total={value.total} page={place.page} onPage={onPage} />
        </>
      )}
    </>
  );
}

function Pager({ total, page, onPage }: { total: number; page: number; onPage: (page: number) => void }): JSX.Element | null {
  const last = Math.max(0, Math.ceil(total / perPage) - 1);
  if (last === 0) return null;
  return (
    <nav class="pager" aria-label="Pages of rules">
      <button type="button" class="button" disabled={page <= 0} onClick={() => onPage(page - 1)}>
        Previous
      </button>
      <span class="num small">
        {whole(page * perPage + 1)}–{whole(Math.min(total, (page + 1) * perPage))} of {whole(total)}
      </span>
      <button type="button" class="button" disabled={page >= last} onClick={() => onPage(page + 1)}>
        Next
      </button>
    </nav>
  );
}
