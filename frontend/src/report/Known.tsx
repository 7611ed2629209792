// Rules that were known before, counted on these data.
import { percent, plural, sentence, whole } from "../format";
import type { KnownRow } from "../types";
import { Section, useShared } from "./parts";

export function Known() {
  const { report } = useShared();
  if (report.known.length === 0) return null;
  return (
    <Section id="known" title="Known rules">
      <p class="muted small">Rules that were given, counted on these data. What follows from them is not among the rules below.</p>
      <ul class="statements">
        {report.known.map((rule, at) => (
          <KnownItem key={at} rule={rule} />
        ))}
      </ul>
    </Section>
  );
}

function KnownItem({ rule }: { rule: KnownRow }) {
  return (
    <li>
      <p dir="auto">
        {rule.name && <b>{rule.name}: </b>}
        {sentence(rule.sentence)}
      </p>
      <p class="muted small">{rule.n_antecedent === 0 ? "It never applied." : `Held in ${whole(rule.n_both)} of ${plural(rule.n_antecedent, "row")} (${percent(rule.confidence, 2)}).`}</p>
    </li>
  );
}
