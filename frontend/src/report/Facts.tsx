// Worth knowing: the few sentences that come first, each with its evidence.
import { useState } from "preact/hooks";
import { ReviewBadge } from "../components/ReviewBadge";
import { sentence, unbroken } from "../format";
import type { Fact } from "../types";
import { Evidence, Section, useShared } from "./parts";

const KIND = { law: "Law", control: "Control", rule: "Rule" } as const;

export function Facts() {
  const { report, cards } = useShared();
  const first = report.facts.findIndex((fact) => fact.card !== null && cards.has(fact.card));
  if (report.facts.length === 0) {
    return (
      <Section id="facts" title="Worth knowing" lead={report.rules.length === 0 ? "No rule, law or control was found with these settings." : "No sentence stands out; all rules are below."}>
        {null}
      </Section>
    );
  }
  return (
    <Section id="facts" title="Worth knowing">
      <ol class="facts">
        {report.facts.map((fact, at) => (
          <FactItem key={at} fact={fact} start={at === first} />
        ))}
      </ol>
    </Section>
  );
}

function FactItem({ fact, start }: { fact: Fact; start: boolean }) {
  const { cards, printing } = useShared();
  const [open, setOpen] = useState(start);
  const card = fact.card !== null && cards.has(fact.card) ? fact.card : null;
  return (
    <li class="fact">
      <p class="fact-kind">{KIND[fact.kind]}</p>
      <p class="fact-sentence" dir="auto">
        {sentence(fact.sentence)}
      </p>
      <p class="fact-figures">
        <span dir="auto">{unbroken(fact.figures)}</span>
        <ReviewBadge review={fact.review} />
        {card !== null && (
          <button type="button" class="link no-print" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide the evidence" : "See the evidence"}
          </button>
        )}
      </p>
      {card !== null && (open || printing) && <Evidence of={card} />}
    </li>
  );
}
