// The first page: what was recorded, three findings with one picture each, and the way to the rest.
import { useState } from "preact/hooks";
import { TraceChart } from "../charts/TraceChart";
import { Figure } from "../charts/Figure";
import { CopyText } from "../components/CopyText";
import { ReviewBadge } from "../components/ReviewBadge";
import { duration, every, period, plural, sentence, unbroken, whole } from "../format";
import type { Card, Fact, SystemPart } from "../types";
import { Evidence, Section, useShared } from "./parts";

const KIND = { law: "Law", control: "Control", rule: "Rule" } as const;
const complete = 0.95;
const long = 2 * 86_400;

/** What was recorded: "15 days within 21 months, 28 Aug 2007 – 1 Jun 2009; 17 sensors, one reading every minute". */
export function recordedText({ start, end, recorded_seconds: recorded, sensors, step_seconds: step, sites }: SystemPart): string {
  const parts: string[] = [];
  if (start !== null && end !== null) {
    const span = (end - start) / 1000;
    const spent = recorded ?? span;
    const length = spent >= complete * span ? roughly(span) : `${roughly(spent)} within ${roughly(span)}`;
    parts.push(`${length}, ${period(start, end)}`);
  }
  parts.push(`${plural(sensors, "sensor")}${sites.length > 1 ? ` at ${plural(sites.length, "site")}` : ""}${step === null ? "" : `, one reading ${every(step)}`}`);
  return `${parts.join("; ")}.`;
}

/** A length of time as one says it: "15 days", "21 months", "3 years". */
function roughly(seconds: number): string {
  const days = seconds / 86_400;
  if (seconds < long) return duration(seconds);
  if (days < 90) return plural(Math.round(days), "day");
  if (days < 730) return plural(Math.round(days / 30.44), "month");
  return plural(Math.round(days / 365.25), "year");
}

export function Facts() {
  const { report } = useShared();
  if (report.facts.length === 0) {
    return (
      <Section id="facts" title="Findings to know" lead={report.rules.length === 0 ? "No rule, law or control was found with these settings." : "No finding stands out; all are listed below."}>
        {null}
      </Section>
    );
  }
  const number = ["", "One finding", "Two findings", "Three findings"][report.facts.length] ?? `${whole(report.facts.length)} findings`;
  return (
    <Section id="facts" title={`${number} to know`}>
      <ol class="facts">
        {report.facts.map((fact) => (
          <FactItem key={`${fact.kind} ${fact.id}`} fact={fact} />
        ))}
      </ol>
    </Section>
  );
}

function FactItem({ fact }: { fact: Fact }) {
  const { cards } = useShared();
  const [open, setOpen] = useState(false);
  const card = fact.card === null ? undefined : cards.get(fact.card);
  const id = `finding-${fact.kind}-${fact.id}`;
  return (
    <li class="fact" id={id}>
      <p class="fact-kind">{KIND[fact.kind]}</p>
      <p class="fact-sentence" dir="auto">
        {sentence(fact.sentence)}
      </p>
      <p class="fact-figures">
        <span dir="auto">{unbroken(fact.figures)}</span>
        <ReviewBadge review={fact.review} />
      </p>
      <p class="fact-actions no-print">
        {card !== undefined && (
          <button type="button" class="link small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide the evidence" : "See the evidence"}
          </button>
        )}
        <CopyText text={() => `${sentence(fact.sentence)} (${fact.figures})`}>Copy sentence</CopyText>
        <CopyText text={() => `${window.location.href.replace(/#.*$/, "")}#${id}`}>Copy link</CopyText>
      </p>
      {card !== undefined && (open ? <Evidence of={card.key} /> : <Picture card={card} />)}
    </li>
  );
}

/** The series of a card and nothing else. */
function Picture({ card }: { card: Card }) {
  if (card.traces.length === 0) return null;
  const times = card.traces[0]?.times ?? [];
  const when = times.length > 0 ? period(times[0] as number, times.at(-1) as number) : "";
  return (
    <Figure cls="picture" note={[card.place ? `At ${card.place}` : "", when].filter(Boolean).join(", ")}>
      <TraceChart traces={card.traces} held={card.held} violated={card.violated} about={card.about} summary={`${plural(card.traces.length, "series", "series")} at ${card.place || "the whole system"}, ${when}.`} {...(card.switches ? { switches: card.switches } : {})} />
    </Figure>
  );
}
