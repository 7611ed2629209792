// The rules: filters, the scatter, the matrix, the table, and how much of the data they speak of.
import { useMemo, useState } from "preact/hooks";
import { Figure } from "../charts/Figure";
import { GraphDrawing } from "../charts/GraphDrawing";
import { MatrixChart } from "../charts/MatrixChart";
import { Ramp } from "../charts/Ramp";
import { Scatter } from "../charts/Scatter";
import { extent } from "../charts/scales";
import { ShareChart } from "../charts/TimeCharts";
import { RuleDetail, RuleTable, countText } from "../components/RuleTable";
import { NO_FILTER, filtered, isFiltered, measureOf, sorted, type Filter, type Sort } from "../components/rules";
import { number, percent, period, plural, whole, words } from "../format";
import type { Coverage, RuleRow } from "../types";
import { search } from "../components/search";
import { Evidence, Section, nodesOf, useShared } from "./parts";
import { Matching } from "./Statements";

const PAGE = 30;

export function Rules() {
  const { report, cards, hint } = useShared();
  const { rules, matrix, mining } = report;
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const [sort, setSort] = useState<Sort | null>(null);
  const [limit, setLimit] = useState(PAGE);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const change = (part: Partial<Filter>) => {
    setFilter({ ...filter, ...part });
    setLimit(PAGE);
  };
  const having = useMemo(() => {
    const ids = (kind: string) => new Set(searched.flatMap((one) => (one.kind === kind ? [one.id] : [])));
    const searched = search(report.search, filter.text);
    const own = ids("rule");
    // A rule that is shown with another one of its family is found with that one.
    const heads = rules.flatMap((rule) => (own.has(rule.id) && rule.shown_with !== null && !filter.families ? [rule.shown_with] : []));
    return { controls: ids("control"), laws: ids("law"), rules: new Set([...own, ...heads]) };
  }, [report, filter.text, filter.families]);
  const found = useMemo(() => filtered(rules, filter, having.rules), [rules, filter, having]);
  const searching = filter.text.trim() !== "" && filter.chosen === null;
  const listed = useMemo(() => sorted(found, sort), [found, sort]);
  const lit = useMemo(() => (isFiltered(filter) ? new Set(found.map((rule) => rule.id)) : null), [found, filter]);
  const together = useMemo(() => rules.filter((rule) => rule.shown_with !== null).length, [rules]);
  const points = useMemo(() => rules.map((rule) => ({ id: rule.id, x: measureOf(rule, "support"), y: measureOf(rule, "confidence"), colour: measureOf(rule, "zhang"), title: rule.sentence })), [rules]);
  const toggle = (id: number) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const hover = (id: number | null) => {
    const rule = id === null ? undefined : rules.find((one) => one.id === id);
    hint(rule?.card ? nodesOf(cards.get(rule.card)) : []);
  };
  if (rules.length === 0) {
    return (
      <Section id="rules" title="Rules" lead={mining.rules_found > 0 ? `${plural(mining.rules_found, "rule")} met the thresholds; none of them remained.` : "No rule met the thresholds."}>
        {report.coverage && <CoverageFigures coverage={report.coverage} />}
      </Section>
    );
  }
  const choose = (cell: [number, number] | null) => change({ cell: cell && [matrix.quantities[cell[0]] ?? "", matrix.quantities[cell[1]] ?? ""], chosen: null });
  const cell: [number, number] | null = filter.cell && [matrix.quantities.indexOf(filter.cell[0]), matrix.quantities.indexOf(filter.cell[1])];
  const lead = [
    `${plural(mining.rules, "rule")}${mining.rules_found > mining.rules ? `, the remainder of ${whole(mining.rules_found)} that met the thresholds` : ""}.`,
    report.rules_left_out > 0 ? `This page holds the best ${whole(rules.length)}.` : "",
    mining.data_coverage !== null ? `The condition of at least one is true in ${percent(mining.data_coverage)} of the rows.` : "",
  ];
  return (
    <Section id="rules" title="Rules" lead={lead.filter(Boolean).join(" ")}>
      <div class={`pictures${new Set(matrix.cells.map((one) => one.target)).size > 12 ? " stacked" : ""}`}>
        {rules.length > 1 && (
          <Figure
            title="Support and confidence"
            note="One point for each rule. Click a point to see the rule; drag to choose a region."
            data={{ columns: ["Rule", "Support", "Confidence", "Zhang"], rows: () => rules.map((rule) => [rule.sentence, number(measureOf(rule, "support"), 3), number(measureOf(rule, "confidence"), 3), number(measureOf(rule, "zhang"), 2)]), numeric: [1, 2, 3] }}
          >
            <Scatter points={points} lit={lit} chosen={filter.chosen} region={filter.region} onChoose={(chosen) => change({ chosen })} onRegion={(region) => change({ region, chosen: null })} />
          </Figure>
        )}
        {matrix.cells.length > 0 && (
          <Figure title="Which quantities imply which" note="Click a circle to list its rules.">
            <MatrixChart matrix={matrix} chosen={cell} onChoose={choose} />
          </Figure>
        )}
      </div>
      <Filters filter={filter} change={change} rules={rules} together={together} />
      <div class="found">
        <p role="status">{statusText(searching ? having.controls.size : 0, searching ? having.laws.size : 0, listed.length, rules.length)}</p>
        <Choices filter={filter} change={change} clear={() => change(NO_FILTER)} />
      </div>
      {searching && <Matching laws={having.laws} controls={having.controls} />}
      {listed.length > 0 && (
        <RuleTable
          rules={listed.slice(0, limit)}
          sort={sort}
          onSort={setSort}
          open={open}
          onOpen={toggle}
          onHover={hover}
          detail={(rule: RuleRow) => <RuleDetail rule={rule}>{rule.card !== null && <Evidence of={rule.card} />}</RuleDetail>}
        />
      )}
      {listed.length > limit && (
        <p class="more">
          <button type="button" class="button no-print" onClick={() => setLimit(limit + 100)}>
            Show {Math.min(100, listed.length - limit)} more
          </button>{" "}
          <span class="muted small">
            {whole(limit)} of {whole(listed.length)} are listed
          </span>
        </p>
      )}
      {report.rules_left_out > 0 && (
        <p class="muted small">
          {plural(report.rules_left_out, "rule")} of the run {report.rules_left_out === 1 ? "is" : "are"} not on this page; <code>thence show</code> and <code>thence explore</code> show them all.
        </p>
      )}
      {report.coverage && <CoverageFigures coverage={report.coverage} />}
    </Section>
  );
}

function statusText(controls: number, laws: number, listed: number, rules: number): string {
  const others = [controls > 0 ? plural(controls, "control") : "", laws > 0 ? plural(laws, "law") : ""].filter(Boolean);
  if (listed > 0) return [...others, countText(listed, rules)].join(", ");
  return others.length > 0 ? `${others.join(", ")}; no rule matches.` : "No rule matches.";
}

function Least({ label, value, onChange, step, max }: { label: string; value: number | null; onChange: (value: number | null) => void; step: number; max?: number }) {
  return (
    <div class="field least">
      <label>
        {label}
        <input
          class="input"
          type="number"
          min={0}
          {...(max === undefined ? {} : { max })}
          step={step}
          inputMode="decimal"
          placeholder="any"
          value={value ?? ""}
          onInput={(event) => {
            const number = Number.parseFloat(event.currentTarget.value);
            onChange(Number.isFinite(number) ? number : null);
          }}
        />
      </label>
    </div>
  );
}

function Filters({ filter, change, rules, together }: { filter: Filter; change: (part: Partial<Filter>) => void; rules: RuleRow[]; together: number }) {
  const kinds = useMemo(() => {
    const counts = new Map<string, number>();
    for (const rule of rules) for (const kind of rule.kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 14);
  }, [rules]);
  const flip = (kind: string) => change({ kinds: filter.kinds.includes(kind) ? filter.kinds.filter((one) => one !== kind) : [...filter.kinds, kind], chosen: null });
  return (
    <div class="filters no-print" role="search" aria-label="Search the rules, laws and controls">
      <div class="field text">
        <label>
          Text
          <input class="input" type="search" placeholder="words of a rule, law or control, a place, a quantity" value={filter.text} onInput={(event) => change({ text: event.currentTarget.value, chosen: null })} />
        </label>
      </div>
      <Least label="Least confidence" step={0.05} max={1} value={filter.confidence} onChange={(confidence) => change({ confidence, chosen: null })} />
      <Least label="Least support" step={0.01} max={1} value={filter.support} onChange={(support) => change({ support, chosen: null })} />
      <Least label="Least lift" step={0.1} value={filter.lift} onChange={(lift) => change({ lift, chosen: null })} />
      {kinds.length > 1 && (
        <div class="chips kinds-chips" role="group" aria-label="Kinds that the rule speaks of">
          {kinds.map(([kind, count]) => (
            <button key={kind} type="button" class="chip" aria-pressed={filter.kinds.includes(kind)} onClick={() => flip(kind)}>
              {words(kind)} <span class="muted num">{whole(count)}</span>
            </button>
          ))}
        </div>
      )}
      {together > 0 && (
        <label class="check">
          <input type="checkbox" checked={filter.families} onChange={(event) => change({ families: event.currentTarget.checked })} /> also the {plural(together, "rule")} that {together === 1 ? "is" : "are"} shown with another one of the same family
        </label>
      )}
    </div>
  );
}

function Choices({ filter, change, clear }: { filter: Filter; change: (part: Partial<Filter>) => void; clear: () => void }) {
  const { cell, region, chosen } = filter;
  const chips: [string, () => void][] = [];
  if (chosen !== null) chips.push(["one rule of the chart", () => change({ chosen: null })]);
  if (cell) chips.push([`${words(cell[0])} → ${words(cell[1])}`, () => change({ cell: null })]);
  if (region) chips.push([`support ${number(region.x[0], 2)}–${number(region.x[1], 2)}, confidence ${number(region.y[0], 2)}–${number(region.y[1], 2)}`, () => change({ region: null })]);
  if (!isFiltered(filter)) return null;
  return (
    <div class="chips no-print">
      {chips.map(([text, drop], at) => (
        <button key={at} type="button" class="chip" aria-pressed="true" aria-label={`Drop: ${text}`} onClick={drop}>
          {text} <span aria-hidden="true">×</span>
        </button>
      ))}
      <button type="button" class="link small" onClick={clear}>
        Show all rules
      </button>
    </div>
  );
}

function CoverageFigures({ coverage }: { coverage: Coverage }) {
  const { report } = useShared();
  const shares = useMemo(() => new Map(coverage.nodes.map(({ node, share }) => [node, share])), [coverage]);
  const [least, most] = extent([...shares.values()]) ?? [0, 0];
  const even = most - least < 0.005;
  const lifted = report.mining.enrichment === "lifted";
  return (
    <div class="coverage">
      {coverage.share.length > 0 && (
        <Figure
          title="Coverage over time"
          note={`The share of the rows in which the condition of at least one rule is true.${lifted ? " A row is one place of a pattern at one time; patterns without rules count, too." : ""}`}
          data={{ columns: ["Period", "Covered"], rows: () => coverage.share.map((share, at) => [period(coverage.edges[at] ?? 0, coverage.edges[at + 1] ?? 0), percent(share)]), numeric: [1] }}
        >
          <ShareChart edges={coverage.edges} shares={coverage.share} what="Share of the rows that the rules speak of" />
        </Figure>
      )}
      {report.drawing && coverage.nodes.length > 0 && even && (
        <Figure title="Coverage over places" note={`At each of ${plural(coverage.nodes.length, "node")} of the drawing a rule applies ${percent(most)} of the time.`}>
          {null}
        </Figure>
      )}
      {report.drawing && coverage.nodes.length > 0 && !even && (
        <Figure
          title="Coverage over places"
          note="Nodes by the share of the time at which a rule applies there; nodes that no rule speaks of are empty."
          data={{ columns: ["Node", "Share of the time"], rows: () => coverage.nodes.map(({ node, share }) => [report.drawing?.nodes[node]?.name ?? "", percent(share)]), numeric: [1] }}
        >
          <Ramp title="share of the time" from="0 %" to="100 %" />
          <GraphDrawing drawing={report.drawing} shares={shares} shareText={(share) => `${percent(share)} of the time`} maxHeight={400} summary={`Drawing of the graph: rules apply at ${plural(coverage.nodes.length, "node")}.`} />
        </Figure>
      )}
      {coverage.places.length > 1 && <PlaceCounts places={coverage.places} />}
    </div>
  );
}

const FIRST_PLACES = 12;

/** Places as rows of a list: each by itself, or those with equally many rules together if one by one they would not fit. */
function placeRows(places: { name: string; count: number }[]): { name: string; names: string; count: number }[] {
  const alone = places.slice(0, FIRST_PLACES);
  if (places.length <= FIRST_PLACES || alone[0]?.count !== alone.at(-1)?.count) return alone.map(({ name, count }) => ({ name, names: name, count }));
  const groups = new Map<number, string[]>();
  for (const { name, count } of places) groups.set(count, [...(groups.get(count) ?? []), name]);
  return [...groups].slice(0, FIRST_PLACES).map(([count, names]) => ({ name: names.length === 1 ? (names[0] ?? "") : plural(names.length, "place"), names: names.join(", "), count }));
}

/** How many rules apply where: places in order, or one sentence if it is the same everywhere. */
function PlaceCounts({ places }: { places: { name: string; count: number }[] }) {
  const most = Math.max(1, ...places.map((place) => place.count));
  const same = places.every((place) => place.count === most);
  const named = places.slice(0, 4).map((place) => place.name);
  return (
    <Figure
      title="Rules by place"
      {...(same ? { note: `${plural(most, "rule")} ${most === 1 ? "applies" : "apply"} at each of ${plural(places.length, "place")}: ${named.join(", ")}${places.length > 4 ? " and others" : ""}.` } : {})}
      {...(same ? {} : { data: { columns: ["Place", "Rules"], rows: () => places.map((place) => [place.name, whole(place.count)]), numeric: [1] } })}
    >
      {!same && (
        <ul class="place-counts">
          {placeRows(places).map((place, at) => (
            <li key={at}>
              <span class="place-name" title={place.names} dir="auto">
                {place.name}
              </span>
              <svg viewBox="0 0 100 8" height="8" width="100%" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(place.count / most) * 100} height="8" fill="var(--held)" opacity="0.75" />
              </svg>
              <span class="num small">{plural(place.count, "rule")}</span>
            </li>
          ))}
        </ul>
      )}
    </Figure>
  );
}
