// The evidence for a rule, a law or a control: its series at one place, its history, its places, its part of the graph.
import { Fragment } from "preact";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Figure } from "../charts/Figure";
import { GraphPiece } from "../charts/GraphDrawing";
import { HistoryStrip, historyRows } from "../charts/HistoryStrip";
import { PlaceBars } from "../charts/PlaceBars";
import { TraceChart, heldThroughout, traceRows } from "../charts/TraceChart";
import { period, plural, whole } from "../format";
import type { Card, Drawing } from "../types";
import { Legend, LegendItem } from "./Legend";
import { PlaceChooser } from "./Places";
import type { Aim } from "./Places";

const SUBJECT = { rule: "the rule", law: "the law", control: "the control" } as const;

interface EvidenceCardProps {
  card: Card;
  drawing: Drawing | null;
  printing?: boolean;
  level?: 3 | 4;
  /** What is shown below the part of the graph. */
  action?: ComponentChildren;
  /** Shows another place or another moment, if they can be asked for. */
  onAim?: (aim: Aim) => void;
}

export function EvidenceCard({ card, drawing, printing = false, level = 4, action, onAim }: EvidenceCardProps) {
  const [lit, setLit] = useState<ReadonlySet<string>>(new Set());
  const times = card.traces[0]?.times ?? [];
  const shown: [number, number] | undefined = times.length > 0 ? [times[0] as number, times.at(-1) as number] : undefined;
  const subject = SUBJECT[card.about];
  const sides = new Set(card.traces.flatMap((trace) => trace.bands.map((band) => band.side)));
  const failed = card.violated.length;
  const summary = [
    shown ? `${plural(card.traces.length, "series", "series")} at ${card.place || "the whole system"}, ${period(...shown)}.` : "",
    card.held.length > 0 ? `${subject} held in ${plural(card.held.length, "period", "periods")}.` : "",
    failed > 0 ? `It was violated in ${plural(failed, "period", "periods")}.` : card.held.length > 0 ? "It was not violated." : "",
  ]
    .filter(Boolean)
    .join(" ");
  const aside = card.nodes.length > 0 || card.places.length > 0;
  return (
    <div class={`card${aside ? " with-aside" : ""}`}>
      <div class="card-main">
        {card.columns && (
          <dl class="pairs">
            {Object.entries(card.columns).map(([heading, text]) => (
              <Fragment key={heading}>
                <dt>{heading}</dt>
                <dd dir="auto">{text}</dd>
              </Fragment>
            ))}
          </dl>
        )}
        {onAim && <PlaceChooser card={card} onAim={onAim} />}
        {card.traces.length > 0 && (
          <Figure
            level={level}
            title={card.place ? `At ${card.place}` : "The readings"}
            note={[shown ? period(...shown) : "", card.why].filter(Boolean).join(". ")}
            data={{
              columns: ["Time", ...card.traces.map((trace) => (trace.unit ? `${trace.name} (${trace.unit})` : trace.name)), "Verdict"],
              rows: () => traceRows(card),
              numeric: card.traces.flatMap((trace, at) => (trace.states.length > 0 ? [] : [at + 1])),
            }}
          >
            <Legend>
              {card.held.length > 0 && (
                <LegendItem mark="area" colour={heldThroughout(card) ? "var(--held)" : "var(--held-soft)"}>
                  {subject} held
                </LegendItem>
              )}
              {failed > 0 && (
                <LegendItem mark="triangle" colour="var(--violated)">
                  violated
                </LegendItem>
              )}
              {sides.has("if") && (
                <LegendItem mark="area" colour="var(--if-soft)">
                  range of the condition
                </LegendItem>
              )}
              {sides.has("then") && (
                <LegendItem mark="area" colour="var(--then-soft)">
                  range of the conclusion
                </LegendItem>
              )}
              {card.switches && card.switches.length > 0 && (
                <LegendItem mark="dash" colour="var(--muted)">
                  the actuator switched
                </LegendItem>
              )}
            </Legend>
            <TraceChart traces={card.traces} held={card.held} violated={card.violated} summary={summary} about={card.about} {...(card.switches ? { switches: card.switches } : {})} />
          </Figure>
        )}
        {card.history && (
          <Figure
            level={level}
            title="Over the whole period"
            note={`How often ${subject} applied and held${card.n_places > 1 ? `, at all ${whole(card.n_places)} places` : ""}. The grey part is shown above.`}
            data={{ columns: ["Period", "Applied", "Held", "Violated"], rows: () => (card.history ? historyRows(card.history) : []), numeric: [1, 2, 3] }}
          >
            <HistoryStrip history={card.history} shown={shown} />
          </Figure>
        )}
      </div>
      {aside && (
        <div class="card-aside">
          {card.nodes.length > 0 && (
            <Figure level={level} title="In the graph">
              <GraphPiece drawing={drawing} nodes={card.nodes} edges={card.edges} highlight={lit} summary={`The part of the graph: ${card.nodes.slice(0, 12).join(", ")}${card.nodes.length > 12 ? " and others" : ""}.`} />
              {action}
            </Figure>
          )}
          {card.places.length > 0 && (
            <Figure level={level} title={card.n_places === 1 ? "At its place" : `At each of ${plural(card.n_places, "place")}`} note="The share of the times in which it held; the mark is the lower end of its interval.">
              <PlaceBars places={card.places} total={card.n_places} spot={card.spot} printing={printing} onHover={(nodes) => setLit(new Set(nodes))} {...(onAim ? { onPlace: (spot: number) => onAim({ spot }) } : {})} />
            </Figure>
          )}
        </div>
      )}
    </div>
  );
}
