// What was recorded: kinds of sensors, gaps, and the graph.
import { useContext } from "preact/hooks";
import { Figure } from "../charts/Figure";
import { GraphDrawing, groupColours } from "../charts/GraphDrawing";
import { GapsChart, meanPresent, silentSpans } from "../charts/TimeCharts";
import { Legend, LegendItem } from "../components/Legend";
import { number, percent, period, plural, whole } from "../format";
import type { Drawing, Gaps, GraphSummary, Kind } from "../types";
import { LitContext, Section, useShared } from "./parts";

/** The map of the first page. */
export function MapPart() {
  const { report } = useShared();
  const { system, drawing } = report;
  if (!drawing || drawing.nodes.length === 0) return null;
  return (
    <Section id="map" title="The map">
      <GraphFigure drawing={drawing} graph={system?.graph ?? null} />
    </Section>
  );
}

/** What was recorded, kind by kind. */
export function Inputs() {
  const { report } = useShared();
  const { system, drawing, mining } = report;
  if (!system && !drawing) {
    const table = mining.windows === "" && mining.transactions !== null;
    return (
      <p class="muted">
        {table
          ? `A table of ${plural(mining.transactions ?? 0, "row")}${mining.features === null ? "" : ` and ${plural(mining.features, "column")}`}, without sensors or a graph.`
          : "The data behind this run are not available, so they are not shown."}
      </p>
    );
  }
  return (
    <>
      {system && system.kinds.length > 0 && <Kinds kinds={system.kinds} />}
      {system?.gaps && <GapsFigure gaps={system.gaps} />}
      {!drawing && system?.graph && <p>{graphText(system.graph)}</p>}
    </>
  );
}

/** A range of values on the scale of its own kind: low, median, high. */
function RangeBar({ kind }: { kind: Kind }) {
  if (kind.low === null || kind.high === null || kind.median === null || kind.high <= kind.low) return null;
  const at = ((kind.median - kind.low) / (kind.high - kind.low)) * 100;
  return (
    <svg class="range" viewBox="0 0 100 12" width="100" height="12" preserveAspectRatio="none" aria-hidden="true">
      <rect x="0" y="5" width="100" height="2" fill="var(--line-strong)" />
      <rect x={Math.min(98.5, Math.max(0, at - 0.75))} y="1" width="2.4" height="10" fill="var(--accent)" />
    </svg>
  );
}

function Kinds({ kinds }: { kinds: Kind[] }) {
  const unit = (kind: Kind) => (kind.unit ? `\u00a0${kind.unit}` : "");
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Kinds of sensors">
      <table class="table kinds">
        <caption>
          <h3>Kinds of sensors</h3>
        </caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col" class="num">
              Sensors
            </th>
            <th scope="col" class="num">
              Readings
            </th>
            <th scope="col" class="num">
              Missing
            </th>
            <th scope="col" class="num">
              Median
            </th>
            <th scope="col" class="num">
              Lowest
            </th>
            <th scope="col" class="range-cell">
              <span class="sr-only">Where the median lies</span>
            </th>
            <th scope="col">Highest</th>
          </tr>
        </thead>
        <tbody>
          {kinds.map((kind, at) => (
            <tr key={at}>
              <th scope="row" dir="auto">
                {kind.kind}
              </th>
              <td class="num">{whole(kind.sensors)}</td>
              <td class="num">{whole(kind.readings)}</td>
              <td class="num">{percent(kind.missing)}</td>
              {kind.states.length > 0 ? (
                <td colSpan={4} class="states">
                  {kind.states.slice(0, 8).join(", ")}
                  {kind.states.length > 8 && ` and ${kind.states.length - 8} more`}
                </td>
              ) : (
                <>
                  <td class="num">
                    {number(kind.median)}
                    {unit(kind)}
                  </td>
                  <td class="num">
                    {number(kind.low)}
                    {unit(kind)}
                  </td>
                  <td class="range-cell">
                    <RangeBar kind={kind} />
                  </td>
                  <td class="high">
                    {number(kind.high)}
                    {unit(kind)}
                  </td>
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function GapsFigure({ gaps }: { gaps: Gaps }) {
  const complete = gaps.rows.every((row) => row.present.every((share) => share === null || share >= 1));
  const apart = gaps.rows.some((row) => row.present.includes(null));
  // A picture of a recording without a gap would be one grey block.
  if (complete && !apart && silentSpans(gaps).length === 0) return <p class="muted">No reading is missing.</p>;
  return (
    <Figure
      title={complete ? "When there are readings" : "Where readings are missing"}
      note={`${gaps.by === "sensor" ? "One line for each sensor." : "One line for each kind of sensor."}${apart ? " Each site has its own time." : ""}${complete ? " No reading is missing." : ""}`}
      data={{
        columns: [gaps.by === "sensor" ? "Sensor" : "Kind", "Present", "Worst period", "Present there"],
        rows: () =>
          gaps.rows.map((row) => {
            const worst = row.present.reduce<number>((best, share, at) => (share !== null && share < (row.present[best] ?? Infinity) ? at : best), 0);
            return [row.name, percent(meanPresent(row)), period(gaps.edges[worst] ?? 0, gaps.edges[worst + 1] ?? 0), percent(row.present[worst])];
          }),
        numeric: [1, 3],
      }}
    >
      <Legend>
        <LegendItem mark="area" colour="var(--present)">
          present
        </LegendItem>
        <li>
          <svg width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
            <rect y="1" width="16" height="10" rx="2" fill="var(--present)" opacity="0.4" />
          </svg>
          partly missing
        </li>
        <LegendItem mark="line" colour="var(--violated)">
          missing
        </LegendItem>
        {silentSpans(gaps).length > 0 && (
          <LegendItem mark="area" colour="var(--line)">
            no reading of any sensor
          </LegendItem>
        )}
      </Legend>
      <GapsChart gaps={gaps} />
    </Figure>
  );
}

function graphText(graph: GraphSummary): string {
  const most = graph.classes.slice(0, 6).map((one) => `${whole(one.count)} ${one.name}`);
  return `${plural(graph.nodes, "node")} and ${plural(graph.edges, "edge")}${most.length > 0 ? `: ${most.join(", ")}${graph.classes.length > 6 ? " and others" : ""}` : ""}.`;
}

function GraphFigure({ drawing, graph }: { drawing: Drawing; graph: GraphSummary | null }) {
  const { light, hint } = useShared();
  const lit = useContext(LitContext);
  const colours = groupColours(drawing);
  const with_sensors = drawing.nodes.filter((node) => node.sensors.length > 0).length;
  const text = graph ? graphText(graph) : plural(drawing.nodes.length, "node");
  const summary = `Drawing of the graph. ${text} ${plural(with_sensors, "node")} of the drawing ${with_sensors === 1 ? "has" : "have"} sensors.`;
  const known = new Set(drawing.nodes.map((node) => node.id));
  const shown = new Set([...lit].filter((id) => known.has(id)));
  return (
    <div id="graph">
      <Figure
                note={
          <>
            {text} {drawing.placed_by === "coordinates" ? "Drawn at the coordinates of the nodes." : "Drawn so that neighbours are close; the positions mean nothing."} {drawing.why}
          </>
        }
        data={{
          columns: ["Node", "Class", "Sensors"],
          rows: () => drawing.nodes.map((node) => [node.name, node.classes.join(", ") || node.group, node.kinds.join(", ")]),
        }}
      >
        <Legend label="Classes of nodes">
          {drawing.groups.slice(0, 10).map((group) => (
            <LegendItem key={group.name} mark="dot" colour={colours.get(group.name) ?? "var(--c7)"}>
              {group.name} <span class="num">{whole(group.count)}</span>
            </LegendItem>
          ))}
          <LegendItem mark="ring" colour="var(--muted)">
            without sensors
          </LegendItem>
        </Legend>
        {shown.size > 0 && (
          <p class="small no-print">
            <b>{plural(shown.size, "node")} highlighted.</b>{" "}
            <button type="button" class="link" onClick={() => (light([]), hint([]))}>
              Clear
            </button>
          </p>
        )}
        <GraphDrawing drawing={drawing} summary={summary} highlight={shown} />
      </Figure>
    </div>
  );
}
