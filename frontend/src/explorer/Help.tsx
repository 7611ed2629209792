// The keys, and the export of rules: two small dialogs.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { plural, whole } from "../format";
import { problemOf } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";
import { Dialog } from "./Dialog";
import type { Query } from "./location";
import { ProblemNote } from "./notes";

const keys: readonly [string[], string][] = [
  [["/"], "Search the rules"],
  [["j", "↓"], "Next in the list"],
  [["k", "↑"], "Previous in the list"],
  [["Enter"], "Open what has the focus"],
  [["x"], "Tick the rule for export"],
  [["a"], "Accept what is open, or take that back"],
  [["r"], "Reject what is open, or take that back"],
  [["n"], "Write a note on it"],
  [["u"], "Undo the last review"],
  [["1", "2", "3"], "Evidence, graph, details"],
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
        In the graph: drag to move, wheel or buttons to zoom; “Nodes as a list” reaches every node by keyboard. In a
        chart of series: + and − zoom, arrows move, 0 shows the whole period. Search <code>if:flow</code> or{" "}
        <code>then:pressure</code> to look at one side of the rules.
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

const mostTicked = 5000;

interface ExportProps {
  run: number;
  query: Query;
  total: number;
  selected: ReadonlySet<number>;
  onClose: () => void;
}

export function ExportDialog({ run, query, total, selected, onClose }: ExportProps): JSX.Element {
  const [format, setFormat] = useState("csv");
  const [what, setWhat] = useState<"ticked" | "filter">(selected.size > 0 ? "ticked" : "filter");
  const [problem, setProblem] = useState<ProblemError | null>(null);
  const ids = what === "ticked" ? [...selected].sort((a, b) => a - b) : [];
  const save = (): void => {
    api.exported(run, format, query, ids).then(
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
    <Dialog title="Export rules" onClose={onClose}>
      <fieldset class="radios">
        <legend class="label">Which rules</legend>
        <label>
          <input type="radio" name="what" checked={what === "ticked"} disabled={selected.size === 0} onChange={() => setWhat("ticked")} />
          {selected.size === 0 ? "The ticked rules (none yet)" : `The ${plural(selected.size, "ticked rule", "ticked rules")}`}
        </label>
        <label>
          <input type="radio" name="what" checked={what === "filter"} onChange={() => setWhat("filter")} />
          All {plural(total, "rule")} of the present filter
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
      {ids.length > mostTicked && (
        <p class="small">At most {whole(mostTicked)} ticked rules go into a file; take a filter instead, or tick fewer.</p>
      )}
      <div class="buttons end">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button primary" disabled={ids.length > mostTicked} onClick={save}>
          Download
        </button>
      </div>
    </Dialog>
  );
}
