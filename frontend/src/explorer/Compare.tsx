// Two runs side by side: rules, laws and controls that only one of them has, and those whose numbers differ.
import type { ComponentChildren, JSX } from "preact";
import { percent, plural, whole } from "../format";
import type { Change, Comparison, RuleRow, RunEntry, StatementChange } from "../types";
import type { Answer } from "./answers";
import { List } from "./List";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { measureOf } from "../components/rules";
import { FindingText } from "./FindingItem";
import { sentence } from "./words";

export type Part = "gained" | "lost" | "changed";

interface ChooserProps {
  runs: readonly RunEntry[];
  run: number;
  against: number | null;
  comparison: Answer<Comparison>;
  part: Part;
  onAgainst: (run: number) => void;
  onPart: (part: Part) => void;
}

const meaning: Record<Part, string> = {
  gained: "new in the open run",
  lost: "missing in the open run",
  changed: "in both, with other numbers",
};

/** The left side: which run to compare with, and how the two differ in numbers. */
export function CompareChooser({ runs, run, against, comparison, part, onAgainst, onPart }: ChooserProps): JSX.Element {
  const others = runs.filter((each) => each.id !== run);
  const value = comparison.value;
  const nameOf = (id: number | null): string => runs.find((each) => each.id === id)?.name ?? "";
  const counts: Record<Part, number> = { gained: value?.n_gained ?? 0, lost: value?.n_lost ?? 0, changed: value?.n_changed ?? 0 };
  for (const one of value?.statements ?? []) counts[one.part] += 1;
  if (others.length === 0)
    return (
      <Nothing title="Only one run is open.">
        <p>Name a second run when you start the explorer.</p>
      </Nothing>
    );
  return (
    <div class="chooser">
      <label class="field">
        <span class="label">Compare “{runs.find((each) => each.id === run)?.name}” with</span>
        <select class="input" value={against ?? ""} onChange={(event) => onAgainst(Number(event.currentTarget.value))}>
          {against === null && <option value="">Choose a run</option>}
          {others.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </select>
      </label>
      {value !== null && (
        <div class="parts" role="group" aria-label="Which differences">
          {(["gained", "lost", "changed"] as const).map((each) => (
            <button type="button" class={`part ${each}`} key={each} aria-pressed={part === each} onClick={() => onPart(each)}>
              <b class="num">{whole(counts[each])}</b>
              <span>{each === "changed" ? "Changed" : `Only in ${nameOf(each === "gained" ? run : against)}`}</span>
              <small class="muted">{meaning[each]}</small>
            </button>
          ))}
          <p class="small muted">{plural(value.n_same, "rule is", "rules are")} the same in both.</p>
        </div>
      )}
    </div>
  );
}

interface ListProps {
  comparison: Answer<Comparison>;
  part: Part;
  current: { id: number; other: boolean } | null;
  chosen: boolean;
  onOpen: (rule: RuleRow, other: boolean) => void;
}

function Step({ name, before, after }: { name: string; before: number | null; after: number | null }): JSX.Element {
  const sign = before !== null && after !== null && after !== before ? (after > before ? "up" : "down") : "";
  return (
    <span class={`step ${sign}`}>
      {name} <span class="num">{percent(before)}</span> <span aria-label="now">→</span> <b class="num">{percent(after)}</b>
      {sign && <span aria-hidden="true"> {sign === "up" ? "▲" : "▼"}</span>}
    </span>
  );
}

/** Laws and controls of one kind of difference, above the rules. */
function Statements({ items }: { items: readonly StatementChange[] }): JSX.Element | null {
  if (items.length === 0) return null;
  return (
    <ul class="pad statement-changes" aria-label="Laws and controls">
      {items.map((one) => (
        <li key={`${one.kind} ${one.sentence}`}>
          {sentence(one.sentence)}{" "}
          <small class="muted">
            {one.kind}, {one.part === "changed" ? `held ${one.before} → ${one.after}` : `held ${one.after || one.before}`}
          </small>
        </li>
      ))}
    </ul>
  );
}

/** The middle: the laws, controls and rules of one kind of difference. */
export function CompareList({ comparison, part, current, chosen, onOpen }: ListProps): JSX.Element | null {
  if (!chosen) return <Nothing title="Choose a run to compare with." />;
  if (comparison.problem) return <ProblemNote problem={comparison.problem} />;
  const value = comparison.value;
  if (value === null) return comparison.waiting ? <Waiting>Comparing the runs…</Waiting> : null;
  const total = { gained: value.n_gained, lost: value.n_lost, changed: value.n_changed }[part];
  const statements = value.statements.filter((one) => one.part === part);
  if (total === 0) return statements.length > 0 ? <Statements items={statements} /> : <Nothing title={`No rule is ${part}.`} />;
  let list: ComponentChildren;
  let given: number;
  if (part === "changed") {
    given = value.changed.length;
    const items = value.changed;
    list = (
      <List<Change>
        label="Changed rules"
        items={items}
        keyOf={(change) => change.other.key}
        current={items.findIndex((change) => current !== null && !current.other && change.other.id === current.id)}
        onOpen={(change) => onOpen(change.other, false)}
      >
        {(change) => (
          <FindingText row={change.other}>
            <span class="measures steps">
              <Step name="confidence" before={measureOf(change.rule, "confidence")} after={measureOf(change.other, "confidence")} />
              <Step name="support" before={measureOf(change.rule, "support")} after={measureOf(change.other, "support")} />
            </span>
          </FindingText>
        )}
      </List>
    );
  } else {
    const rules = part === "gained" ? value.gained : value.lost;
    const other = part === "lost";
    given = rules.length;
    const items = rules;
    list = (
      <List<RuleRow>
        label={part === "gained" ? "Gained rules" : "Lost rules"}
        items={items}
        keyOf={(rule) => rule.key}
        current={items.findIndex((rule) => current !== null && current.other === other && rule.id === current.id)}
        onOpen={(rule) => onOpen(rule, other)}
      >
        {(rule) => <FindingText row={rule} />}
      </List>
    );
  }
  return (
    <>
      <Statements items={statements} />
      {list}
      {given < total && (
        <p class="small muted pad">
          The first {whole(given)} of {plural(total, "rule")}.
        </p>
      )}
    </>
  );
}
