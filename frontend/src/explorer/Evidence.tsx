// The evidence tab: the card of what is open, and the series behind it to zoom into.
import type { JSX } from "preact";
import { EvidenceCard } from "../components/EvidenceCard";
import { ReviewBadge } from "../components/ReviewBadge";
import type { Card, Drawing, Fact, RunEntry } from "../types";
import type { Answer } from "./answers";
import type { Subject } from "./location";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { sentence } from "./words";
import { SeriesView } from "./SeriesView";

const mostSeries = 8;

interface Props {
  run: RunEntry;
  card: Answer<Card | null>;
  drawing: Drawing | null;
  /** Sensors to show if nothing but a node is open. */
  sensors: readonly string[];
  nodeName: string;
  subject: Subject | null;
}

export function Evidence({ run, card, drawing, sensors, nodeName, subject }: Props): JSX.Element {
  const own = card.value === null ? [] : sensorsOf(card.value, drawing);
  const shown = (subject === null ? sensors : own).filter(Boolean).slice(0, mostSeries);
  if (run.data === "loading") return <Waiting>The readings behind this run are being read; the evidence follows.</Waiting>;
  if (run.data === "missing")
    return (
      <Nothing title="The readings behind this run are not available, so there is no evidence to show.">
        <p>{run.why}</p>
      </Nothing>
    );
  return (
    <div class="evidence">
      {card.problem && <ProblemNote problem={card.problem} />}
      {card.waiting && card.value === null && <Waiting>Looking for the evidence…</Waiting>}
      {subject !== null && !card.waiting && card.value === null && !card.problem && (
        <Nothing title="There is no evidence card for this one.">
          <p>The details tab has its exact counts.</p>
        </Nothing>
      )}
      {card.value !== null && <EvidenceCard card={card.value} drawing={drawing} level={3} />}
      {subject === null && sensors.length === 0 && <Nothing title={`There is no sensor at ${nodeName}.`} />}
      {shown.length > 0 && (
        <section class="series-section">
          {subject === null ? <h2>Readings at <bdi>{nodeName}</bdi></h2> : <h3>The series, at any time</h3>}
          <SeriesView run={run.id} sensors={shown} kinds={card.value?.traces.map((trace) => trace.kind) ?? []} held={card.value?.held ?? []} violated={card.value?.violated ?? []} />
        </section>
      )}
    </div>
  );
}

/** The sensors of a card; for a series that sums up others, the sensors of its kind at the nodes of the card. */
export function sensorsOf(card: Card, drawing: Drawing | null): string[] {
  const sensors = new Set(card.traces.map((trace) => trace.sensor).filter(Boolean));
  const kinds = new Set(card.traces.filter((trace) => !trace.sensor).map((trace) => trace.kind));
  const nodes = new Set(card.nodes);
  for (const node of drawing?.nodes ?? []) {
    if (!nodes.has(node.id) || !node.kinds.some((kind) => kinds.has(kind))) continue;
    for (const sensor of node.sensors) sensors.add(sensor);
  }
  return [...sensors];
}

interface WorthProps {
  facts: readonly Fact[];
  onOpen: (subject: Subject) => void;
}

/** What one sees first: the few sentences worth knowing. */
export function WorthKnowing({ facts, onOpen }: WorthProps): JSX.Element {
  return (
    <section class="worth">
      <h2>Worth knowing</h2>
      {facts.length === 0 ? (
        <p class="muted">Choose a rule in the list to see its evidence.</p>
      ) : (
        <ol>
          {facts.map((fact) => (
            <li key={`${fact.kind} ${fact.id}`}>
              <button type="button" class="fact" onClick={() => onOpen({ about: fact.kind, id: fact.id })}>
                <span class="sentence">
                  <bdi>{sentence(fact.sentence)}</bdi>
                </span>
                <span class="muted small">
                  {fact.kind !== "rule" && <span class="badge plain">{fact.kind}</span>} {fact.figures} <ReviewBadge review={fact.review} />
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
