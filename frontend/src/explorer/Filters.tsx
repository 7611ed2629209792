// Facets and bounds: what narrows the list, with the number of findings behind every choice.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { whole } from "../format";
import type { Facet } from "../types";
import { emptyQuery, facetNames, narrowings } from "./location";
import type { FacetName, Query } from "./location";

const titles: Record<FacetName, string> = {
  kind: "Quantity",
  conclusion: "Predicts",
  class: "Class",
  property: "Property",
  pattern: "Pattern",
  review: "Review",
};
const few = 6;

interface Props {
  query: Query;
  facets: readonly Facet[];
  /** The number of findings that fit. */
  total: number;
  onChange: (query: Query, how: "push" | "replace") => void;
}

export function Filters({ query, facets, total, onChange }: Props): JSX.Element {
  const known = new Map(facets.map((facet) => [facet.name, facet]));
  const toggle = (name: FacetName, choice: string): void => {
    const chosen = query.facets[name] ?? [];
    const next = chosen.includes(choice) ? chosen.filter((each) => each !== choice) : [...chosen, choice];
    const others = { ...query.facets };
    delete others[name];
    onChange({ ...query, facets: next.length > 0 ? { ...others, [name]: next } : others }, "push");
  };
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {query.node !== null && (
        <p class="at-node">
          <span>
            Findings at <b><bdi>{query.node}</bdi></b>
          </span>
          <button
            type="button"
            class="button plain"
            aria-label={`Show the findings of all places, not only of ${query.node}`}
            onClick={() => onChange({ ...query, node: null }, "push")}
          >
            ✕
          </button>
        </p>
      )}
      {(narrowings(query) > 0 || query.q !== "") && (
        <button
          type="button"
          class="button clear"
          onClick={() => onChange({ ...emptyQuery, sort: query.sort, descending: query.descending }, "push")}
        >
          Clear all filters
        </button>
      )}
      <fieldset class="bounds">
        <legend class="sr-only">Minimum</legend>
        <Bound name="Min. confidence" value={query.minConfidence} most={1} onChange={(minConfidence) => onChange({ ...query, minConfidence }, "replace")} />
        <Bound name="Min. support" value={query.minSupport} most={1} onChange={(minSupport) => onChange({ ...query, minSupport }, "replace")} />
        <Bound name="Min. lift" value={query.minLift} most={null} onChange={(minLift) => onChange({ ...query, minLift }, "replace")} />
      </fieldset>
      {facetNames.map((name) => {
        const facet = known.get(name);
        const chosen = query.facets[name] ?? [];
        // A single choice that every finding has narrows nothing; quantities are shown all the same.
        const always = name === "kind" || name === "conclusion";
        const idle = facet === undefined || facet.choices.length === 0 || (!always && facet.choices.length === 1 && facet.choices[0]?.count === total);
        if (facet === undefined || (idle && chosen.length === 0)) return null;
        return <Choices key={name} title={titles[name]} facet={facet} chosen={chosen} onToggle={(choice) => toggle(name, choice)} />;
      })}
    </form>
  );
}

function Bound({ name, value, most, onChange }: { name: string; value: number | null; most: number | null; onChange: (value: number | null) => void }): JSX.Element {
  return (
    <label>
      <span>{name}</span>
      <input
        class="input"
        type="number"
        min={0}
        {...(most === null ? {} : { max: most })}
        step={most === null ? 0.5 : 0.05}
        value={value ?? ""}
        placeholder="any"
        onInput={(event) => {
          const text = event.currentTarget.value;
          const given = text === "" ? null : Number(text);
          if (given === null || (Number.isFinite(given) && given >= 0 && (most === null || given <= most))) onChange(given);
        }}
      />
    </label>
  );
}

interface ChoicesProps {
  title: string;
  facet: Facet;
  chosen: readonly string[];
  onToggle: (choice: string) => void;
}

function Choices({ title, facet, chosen, onToggle }: ChoicesProps): JSX.Element {
  const [all, setAll] = useState(false);
  const counted = new Set(facet.choices.map((choice) => choice.name));
  const choices = [
    ...chosen.filter((name) => !counted.has(name)).map((name) => ({ name, count: 0 })),
    ...facet.choices.filter((choice) => chosen.includes(choice.name)),
    ...facet.choices.filter((choice) => !chosen.includes(choice.name)),
  ];
  const largest = Math.max(1, ...facet.choices.map((choice) => choice.count));
  const shown = all ? choices : choices.slice(0, Math.max(few, chosen.length));
  return (
    <fieldset class="facet">
      <legend>{title}</legend>
      <ul>
        {shown.map((choice) => (
          <li key={choice.name}>
            <label>
              <input type="checkbox" checked={chosen.includes(choice.name)} onChange={() => onToggle(choice.name)} />
              <span class="choice-name" title={choice.name}>
                <bdi>{choice.name.replaceAll("_", " ")}</bdi>
              </span>
              <span class="num muted">{whole(choice.count)}</span>
              <span class="choice-bar" aria-hidden="true" style={{ inlineSize: `${(100 * choice.count) / largest}%` }} />
            </label>
          </li>
        ))}
      </ul>
      {choices.length > shown.length && (
        <button type="button" class="link small" onClick={() => setAll(true)}>
          {whole(choices.length - shown.length)} more
        </button>
      )}
      {all && choices.length > few && (
        <button type="button" class="link small" onClick={() => setAll(false)}>
          Fewer
        </button>
      )}
    </fieldset>
  );
}
