// The keys, and the export of rules: two small dialogs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { plural, whole } from "../format";
import { problemOf } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";
import { Dialog } from "./Dialog";
import type { FindingRow } from "./FindingItem";
import type { Query, What } from "./location";
import { ProblemNote } from "./notes";

const keys: readonly [string[], string][] = [
  [["Ctrl K", "/"], "Search findings, places and sensors"],
  [["j", "↓"], "Next in the list"],
  [["k", "↑"], "Previous in the list"],
  [["Enter"], "Open what has the focus"],
  [["x"], "Select what is open, to export it"],
  [["a"], "Accept what is open, or take that back"],
  [["r"], "Reject what is open, or take that back"],
  [["n"], "Write a note on it"],
  [["u"], "Undo the last review"],
  [["1", "2", "3"], "Evidence, map, details"],
  [["Esc"], "Close what is open"],
  [["?"], "Show these keys"],
];

export function KeysDialog({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {keys.map(([names, meaning]) => (
          <div key={meaning}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="muted small">
        On the map: drag to move, wheel or buttons to zoom; “Nodes as a list” reaches every node by keyboard. In a
        chart of series: + and − zoom, arrows move, 0 shows the whole period. Search <code>if:flow</code> or{" "}
        <code>then:pressure</code> to look at one side of rules and controls.
      </p>
    </Dialog>
  );
}

const formats: readonly [string, string][] = [
  ["csv", "CSV, for spreadsheets"],
  ["json", "JSON, complete and exact"],
  ["md", "Markdown, for documents"],
  ["parquet", "Parquet, for data frames"],
];

const mostSelected = 5000;

interface ExportProps {
  run: number;
  query: Query;
  what: What;
  total: number;
  selected: readonly FindingRow[];
  onClose: () => void;
}

export function ExportDialog({ run, query, what: kind, total, selected, onClose }: ExportProps): JSX.Element {
  const [format, setFormat] = useState("csv");
  const [what, setWhat] = useState<"selected" | "filter">(selected.length > 0 ? "selected" : "filter");
  const [problem, setProblem] = useState<ProblemError | null>(null);
  const rows = what === "selected" ? selected : [];
  const many = rows.reduce((sum, row) => sum + row.members.length, 0) > mostSelected;
  const save = (): void => {
    api.exported(run, format, query, kind === "place" || kind === "sensor" ? "" : kind, rows).then(
      ({ data, name }) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(data);
        link.download = name;
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
        onClose();
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <Dialog title="Export findings" onClose={onClose}>
      <fieldset class="radios">
        <legend class="label">Which findings</legend>
        <label>
          <input type="radio" name="what" checked={what === "selected"} disabled={selected.length === 0} onChange={() => setWhat("selected")} />
          {selected.length === 0 ? "The selected findings (none yet)" : `The ${plural(selected.length, "selected finding")}`}
        </label>
        <label>
          <input type="radio" name="what" checked={what === "filter"} onChange={() => setWhat("filter")} />
          All {plural(total, "finding")} of the list
        </label>
      </fieldset>
      <fieldset class="radios">
        <legend class="label">Format</legend>
        {formats.map(([name, title]) => (
          <label key={name}>
            <input type="radio" name="format" checked={format === name} onChange={() => setFormat(name)} />
            {title}
          </label>
        ))}
      </fieldset>
      {problem !== null && <ProblemNote problem={problem} />}
      <p class="small muted">Each with its variants. Rules alone have all their measures; with laws or controls a row has its sentence and counts.</p>
      {many && <p class="small">At most {whole(mostSelected)} selected findings go into a file; use a filter instead, or select fewer.</p>}
      <div class="buttons end">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button primary" disabled={many} onClick={save}>
          Download
        </button>
      </div>
    </Dialog>
  );
}
