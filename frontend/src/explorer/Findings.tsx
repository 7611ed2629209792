// The one list: findings of all kinds, places and sensors, each kind with its count, page by page.
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { MeasuresContext } from "../components/rules";
import { plural, whole } from "../format";
import type { FindingsPage, Hit } from "../types";
import type { Answer } from "./answers";
import { FindingText, idOf } from "./FindingItem";
import type { FindingRow } from "./FindingItem";
import { List } from "./List";
import type { Place, Query, What } from "./location";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { sentence } from "./words";

export const perPage = 50;

const chips: readonly (readonly [What, string])[] = [
  ["", "All"],
  ["control", "Controls"],
  ["law", "Laws"],
  ["rule", "Rules"],
  ["place", "Places"],
  ["sensor", "Sensors"],
];

interface Props {
  place: Place;
  page: Answer<FindingsPage>;
  selected: ReadonlyMap<string, FindingRow>;
  onSelect: (rows: readonly FindingRow[], chosen: boolean) => void;
  onOpen: (row: FindingRow) => void;
  onHit: (hit: Hit) => void;
  onWhat: (what: What) => void;
  onPage: (page: number) => void;
  onQuery: (query: Query) => void;
}

export function Findings({ place, page, selected, onSelect, onOpen, onHit, onWhat, onPage, onQuery }: Props): JSX.Element {
  const { value, problem, waiting } = page;
  const { query, what } = place;
  const rows = value?.findings ?? [];
  const current = rows.findIndex((row) => place.subject?.about === row.kind && row.members.includes(place.subject.id));
  const things = what === "place" || what === "sensor";
  const nothing = value !== null && rows.length + value.named.length === 0 && !waiting;
  return (
    <>
      <Chips what={what} counts={value?.counts ?? {}} onWhat={onWhat} />
      {!things && <Tools query={query} value={value} selected={selected.size} onQuery={onQuery} />}
      {problem && <ProblemNote problem={problem} />}
      {value === null && waiting && <Waiting>Looking for findings…</Waiting>}
      {nothing && (
        <Nothing title={things ? `No ${what} fits.` : "No finding fits."}>
          <p>Clear a filter, or use fewer words.</p>
        </Nothing>
      )}
      {value !== null && value.named.length > 0 && <Hits hits={value.named} counts={value.counts} what={what} node={place.node} onHit={onHit} onWhat={onWhat} />}
      {rows.length > 0 && (
        <>
          <label class="tick-page small muted">
            <input type="checkbox" checked={rows.every((row) => selected.has(idOf(row)))} onChange={(event) => onSelect(rows, event.currentTarget.checked)} />
            Select all
          </label>
          <List
            label="Findings"
            items={rows}
            keyOf={idOf}
            current={current}
            busy={waiting}
            onOpen={onOpen}
            classOf={(row) => (row.review?.verdict === "rejected" ? "rejected" : "")}
            before={(row, reachable) => (
              <input
                type="checkbox"
                class="tick"
                tabIndex={reachable ? 0 : -1}
                checked={selected.has(idOf(row))}
                aria-label={`Select: ${row.sentence}`}
                onChange={(event) => onSelect([row], event.currentTarget.checked)}
              />
            )}
          >
            {(row) => <FindingText row={row} />}
          </List>
        </>
      )}
      {value !== null && <Pager total={value.total} page={place.page} onPage={onPage} />}
    </>
  );
}

/** What is listed, with the number of each kind that the filter leaves. */
function Chips({ what, counts, onWhat }: { what: What; counts: Record<string, number>; onWhat: (what: What) => void }): JSX.Element {
  const all = (counts["control"] ?? 0) + (counts["law"] ?? 0) + (counts["rule"] ?? 0);
  return (
    <div class="list-names" role="group" aria-label="What is listed">
      {chips
        .filter(([name]) => name === "" || name === what || (counts[name] ?? 0) > 0)
        .map(([name, title]) => (
          <button type="button" class="chip" key={name} aria-pressed={what === name} onClick={() => onWhat(name)}>
            {title} <span class="num">{whole(name === "" ? all : (counts[name] ?? 0))}</span>
          </button>
        ))}
    </div>
  );
}

function Tools({ query, value, selected, onQuery }: { query: Query; value: FindingsPage | null; selected: number; onQuery: (query: Query) => void }): JSX.Element {
  const measures = useContext(MeasuresContext);
  return (
    <div class="list-tools">
      <p class="count" aria-live="polite">
        {value === null ? "\u00a0" : <b>{plural(value.total, "finding")}</b>}
        {value !== null && value.variants > 0 && <span class="muted"> with {plural(value.variants, "variant")}</span>}
        {selected > 0 && <span class="muted">, {whole(selected)} selected</span>}
      </p>
      <label class="order">
        <span class="sr-only">Order of the list</span>
        <select class="input" value={query.sort} onChange={(event) => onQuery({ ...query, sort: event.currentTarget.value, descending: true })}>
          <option value="">Recommended</option>
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
          title={query.descending ? "Highest first" : "Lowest first"}
          aria-label={query.descending ? "Highest first; show the lowest first" : "Lowest first; show the highest first"}
          onClick={() => onQuery({ ...query, descending: !query.descending })}
        >
          {query.descending ? "↓" : "↑"}
        </button>
      )}
    </div>
  );
}

interface HitsProps {
  hits: readonly Hit[];
  counts: Record<string, number>;
  what: What;
  node: string | null;
  onHit: (hit: Hit) => void;
  onWhat: (what: What) => void;
}

/** Places and sensors: all of a page, or the best before the findings of a search. */
function Hits({ hits, counts, what, node, onHit, onWhat }: HitsProps): JSX.Element {
  const more = (["place", "sensor"] as const).filter((kind) => what === "" && (counts[kind] ?? 0) > hits.filter((hit) => hit.kind === kind).length);
  return (
    <section class="hits" aria-label="Places and sensors">
      <List label="Places and sensors" items={hits} keyOf={(hit) => `${hit.kind} ${hit.id}`} current={hits.findIndex((hit) => hit.kind === "place" && hit.id === node)} onOpen={onHit}>
        {(hit) => (
          <span class="hit">
            <b>
              <bdi>{hit.id}</bdi>
            </b>{" "}
            <span class="muted small">
              {hit.kind === "place" ? "place" : "sensor"}
              {hit.what && (
                <>
                  {" · "}
                  <bdi>{hit.what}</bdi>
                </>
              )}
            </span>
          </span>
        )}
      </List>
      {more.length > 0 && (
        <p class="more-hits small">
          {more.map((kind) => (
            <button type="button" class="link" key={kind} onClick={() => onWhat(kind)}>
              All {plural(counts[kind] ?? 0, kind)}
            </button>
          ))}
        </p>
      )}
    </section>
  );
}

function Pager({ total, page, onPage }: { total: number; page: number; onPage: (page: number) => void }): JSX.Element | null {
  const last = Math.max(0, Math.ceil(total / perPage) - 1);
  if (last === 0) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
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
