// How it was mined: what went in, measures, settings, the time that the work took, and notes.
import { StagesBar } from "../charts/Bars";
import { Figure } from "../charts/Figure";
import { duration, whole } from "../format";
import type { ListProps } from "./Findings";
import { Inputs } from "./Inputs";
import { Measures } from "./Measures";
import { Section, useShared } from "./parts";

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function Method(list: ListProps) {
  const { report } = useShared();
  const { mining } = report;
  const counted: [string, number | null][] = [
    ["Transactions", mining.transactions],
    ["Features", mining.features],
    ["Items", mining.items],
    ["Candidate rules that met the thresholds", mining.rules_found],
    ["Rules that were kept, variants included", mining.rules],
  ];
  const rows: [string, string][] = [
    ["Enrichment", mining.enrichment],
    ["Windows", mining.windows],
    ["Bins", mining.bins],
    ["Miner", mining.miner],
    ...mining.settings.map(([name = "", value = ""]): [string, string] => [name, value]),
    ...counted.flatMap(([name, count]): [string, string][] => (count === null ? [] : [[name, whole(count)]])),
  ];
  const total = mining.stages.reduce((sum, stage) => sum + stage.seconds, 0);
  const notes = [...mining.notes, ...report.notes];
  return (
    <Section id="method" title="Method" lead={mining.complete ? undefined : "The search was ended early: there are more rules than these."}>
      <Inputs />
      <Measures {...list} />
      <h3>Settings</h3>
      <dl class="settings">
        {rows
          .filter(([, value]) => value)
          .map(([name, value], at) => (
            <div key={at}>
              <dt>{capital(name)}</dt>
              <dd dir="auto">{value}</dd>
            </div>
          ))}
      </dl>
      {total > 0 && (
        <Figure title={`Time: ${duration(total)}`}>
          <StagesBar stages={mining.stages} />
        </Figure>
      )}
      {notes.length > 0 && (
        <div>
          <h3>Notes</h3>
          <ul class="notes">
            {notes.map((note, at) => (
              <li key={at} dir="auto">
                {capital(note)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}
