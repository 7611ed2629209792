// How it was mined: settings, the time that the work took, and notes.
import { StagesBar } from "../charts/Bars";
import { Figure } from "../charts/Figure";
import { duration, whole } from "../format";
import { Section, useShared } from "./parts";

export function MiningPart() {
  const { report } = useShared();
  const { mining } = report;
  const counted: [string, number | null][] = [
    ["Transactions", mining.transactions],
    ["Features", mining.features],
    ["Items", mining.items],
    ["Rules that met the thresholds", mining.rules_found],
    ["Rules that remained", mining.rules],
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
    <Section id="mining" title="How it was mined" lead={mining.complete ? undefined : "The search was ended early: there are more rules than these."}>
      <table class="table settings">
        <caption class="sr-only">Settings</caption>
        <tbody>
          {rows
            .filter(([, value]) => value)
            .map(([name, value], at) => (
              <tr key={at}>
                <th scope="row">{name}</th>
                <td dir="auto">{value}</td>
              </tr>
            ))}
        </tbody>
      </table>
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
                {note}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}
