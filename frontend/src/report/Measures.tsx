// The rules as numbers: support against confidence, which quantity implies which, and how much of the data they speak of.
import { useMemo } from "preact/hooks";
import { Figure } from "../charts/Figure";
import { GraphDrawing } from "../charts/GraphDrawing";
import { MatrixChart } from "../charts/MatrixChart";
import { Ramp } from "../charts/Ramp";
import { Scatter } from "../charts/Scatter";
import { extent } from "../charts/scales";
import { ShareChart } from "../charts/TimeCharts";
import { isFiltered, measureOf, passes } from "../components/rules";
import { number, percent, period, plural, whole } from "../format";
import type { Coverage } from "../types";
import type { ListProps } from "./Findings";
import { useShared } from "./parts";

export function Measures({ filter, change }: ListProps) {
  const { report } = useShared();
  const { rules, matrix } = report;
  const points = useMemo(() => rules.map((rule) => ({ id: rule.id, x: measureOf(rule, "support"), y: measureOf(rule, "confidence"), colour: measureOf(rule, "zhang"), title: rule.sentence })), [rules]);
  const lit = useMemo(() => (isFiltered(filter) ? new Set(rules.filter((rule) => passes(rule, filter)).map((rule) => rule.id)) : null), [rules, filter]);
  const narrow = (part: Parameters<ListProps["change"]>[0]): void => {
    change(part);
    document.getElementById("findings")?.scrollIntoView({ block: "start" });
  };
  const cell: [number, number] | null = filter.cell && [matrix.quantities.indexOf(filter.cell[0]), matrix.quantities.indexOf(filter.cell[1])];
  return (
    <>
      {rules.length > 0 && (
        <div class={`pictures${new Set(matrix.cells.map((one) => one.target)).size > 12 ? " stacked" : ""}`}>
          {rules.length > 1 && (
            <Figure
              title="Support and confidence"
              note="One point for each rule, variants included. Click a point to see the rule; drag to choose a region."
              data={{ columns: ["Rule", "Support", "Confidence", "Zhang"], rows: () => rules.map((rule) => [rule.sentence, number(measureOf(rule, "support"), 3), number(measureOf(rule, "confidence"), 3), number(measureOf(rule, "zhang"), 2)]), numeric: [1, 2, 3] }}
            >
              <Scatter points={points} lit={lit} chosen={filter.chosen} region={filter.region} onChoose={(chosen) => (chosen === null ? change({ chosen }) : narrow({ chosen }))} onRegion={(region) => narrow({ region, chosen: null })} />
            </Figure>
          )}
          {matrix.cells.length > 0 && (
            <Figure title="Which quantities imply which" note="Click a circle to list its rules.">
              <MatrixChart matrix={matrix} chosen={cell} onChoose={(at) => narrow({ cell: at && [matrix.quantities[at[0]] ?? "", matrix.quantities[at[1]] ?? ""], chosen: null })} />
            </Figure>
          )}
        </div>
      )}
      {report.coverage && <CoverageFigures coverage={report.coverage} />}
    </>
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
