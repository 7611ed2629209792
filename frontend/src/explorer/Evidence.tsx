// The evidence tab: the card of what is open, and the series behind it to zoom into.
import type { JSX } from "preact";
import { EvidenceCard } from "../components/EvidenceCard";
import type { Card, Drawing, RunEntry } from "../types";
import type { Answer } from "./answers";
import type { Subject } from "./location";
import type { Aim } from "../components/Places";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { SeriesView } from "./SeriesView";

const mostSeries = 8;

interface Props {
  run: RunEntry;
  card: Answer<Card | null>;
  drawing: Drawing | null;
  subject: Subject;
  /** Shows another place or another moment. */
  onAim: (aim: Aim) => void;
}

export function Evidence({ run, card, drawing, subject, onAim }: Props): JSX.Element {
  const shown = (card.value === null ? [] : sensorsOf(card.value, drawing)).filter(Boolean).slice(0, mostSeries);
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
      {!card.waiting && card.value === null && !card.problem && (
        <Nothing title="There is no evidence card for this one.">
          <p>The details tab has its exact counts.</p>
        </Nothing>
      )}
      {card.value !== null && <EvidenceCard card={card.value} drawing={drawing} level={3} onAim={onAim} />}
      {shown.length > 0 && (
        <section class="series-section">
          <h3>The series, at any time</h3>
          <SeriesView key={`${subject.about} ${subject.id}`} run={run.id} sensors={shown} kinds={card.value?.traces.map((trace) => trace.kind) ?? []} held={card.value?.held ?? []} violated={card.value?.violated ?? []} />
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
