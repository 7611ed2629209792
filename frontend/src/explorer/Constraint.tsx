// "Try a constraint": what each side of a rule may speak of, and thresholds; the data are then mined again.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { MineRequest, Side } from "../types";
import { Dialog } from "./Dialog";

type Wish = "any" | "only" | "without";
type Wishes = Readonly<Record<string, Wish>>;

/** What a choice becomes when it is pressed: any, only, without, any. */
export function nextWish(wish: Wish): Wish {
  return wish === "any" ? "only" : wish === "only" ? "without" : "any";
}

/** One side of a request; nothing if everything is allowed. */
export function sideOf(kinds: Wishes, classes: Wishes): Side | null {
  const having = (wishes: Wishes, wanted: Wish): string[] => Object.keys(wishes).filter((name) => wishes[name] === wanted);
  const side: Side = {};
  const onlyKinds = having(kinds, "only");
  const onlyClasses = having(classes, "only");
  const without = [...having(kinds, "without"), ...having(classes, "without")];
  if (onlyKinds.length > 0) side.kinds = onlyKinds;
  if (onlyClasses.length > 0) side.classes = onlyClasses;
  if (without.length > 0) side.without = without;
  return Object.keys(side).length > 0 ? side : null;
}

interface Props {
  runName: string;
  kinds: readonly string[];
  classes: readonly string[];
  onMine: (request: MineRequest) => void;
  onClose: () => void;
}

export function ConstraintDialog({ runName, kinds, classes, onMine, onClose }: Props): JSX.Element {
  const [ifKinds, setIfKinds] = useState<Wishes>({});
  const [ifClasses, setIfClasses] = useState<Wishes>({});
  const [thenKinds, setThenKinds] = useState<Wishes>({});
  const [thenClasses, setThenClasses] = useState<Wishes>({});
  const [bounds, setBounds] = useState<Record<string, string>>({});
  const bound = (name: string): number | undefined => {
    const text = bounds[name] ?? "";
    return text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const request: MineRequest = {};
    const antecedent = sideOf(ifKinds, ifClasses);
    const consequent = sideOf(thenKinds, thenClasses);
    if (antecedent) request.antecedent = antecedent;
    if (consequent) request.consequent = consequent;
    for (const name of ["min_support", "min_confidence", "max_antecedents", "most"] as const) {
      const value = bound(name);
      if (value !== undefined) request[name] = value;
    }
    onMine(request);
  };
  const field = (name: string, title: string, hint: string, most: number | null, step: number): JSX.Element => (
    <label class="field">
      <span class="label">{title}</span>
      <input
        class="input"
        type="number"
        name={name}
        min={0}
        {...(most === null ? {} : { max: most })}
        step={step}
        placeholder={hint}
        value={bounds[name] ?? ""}
        onInput={(event) => setBounds({ ...bounds, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <Dialog title="Try a constraint" onClose={onClose}>
      <p class="muted">
        Mines the data of “{runName}” again and compares the result with it. Press a name once for rules with <b>only</b>{" "}
        such items on that side, twice for rules <b>without</b> it.
      </p>
      <form onSubmit={submit} class="constraint">
        <fieldset>
          <legend>If: the condition speaks of</legend>
          <WishChips label="Quantities of the condition" names={kinds} wishes={ifKinds} onChange={setIfKinds} />
          <WishChips label="Classes of the condition" names={classes} wishes={ifClasses} onChange={setIfClasses} />
        </fieldset>
        <fieldset>
          <legend>Then: the conclusion speaks of</legend>
          <WishChips label="Quantities of the conclusion" names={kinds} wishes={thenKinds} onChange={setThenKinds} />
          <WishChips label="Classes of the conclusion" names={classes} wishes={thenClasses} onChange={setThenClasses} />
        </fieldset>
        <fieldset class="bounds-row">
          <legend>Thresholds</legend>
          {field("min_support", "Minimum support", "as before", 1, 0.001)}
          {field("min_confidence", "Minimum confidence", "as before", 1, 0.01)}
          {field("max_antecedents", "Conditions at most", "as before", 10, 1)}
          {field("most", "Rules at most (0: all)", "as before", null, 1)}
        </fieldset>
        <div class="buttons end">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Mine again
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const marks: Record<Wish, string> = { any: "", only: "✓ only ", without: "✕ without " };

interface ChipsProps {
  label: string;
  names: readonly string[];
  wishes: Wishes;
  onChange: (wishes: Wishes) => void;
}

function WishChips({ label, names, wishes, onChange }: ChipsProps): JSX.Element | null {
  if (names.length === 0) return null;
  return (
    <div class="chips" role="group" aria-label={label}>
      {names.map((name) => {
        const wish = wishes[name] ?? "any";
        return (
          <button type="button" class={`chip ${wish}`} key={name} aria-pressed={wish !== "any"} onClick={() => onChange({ ...wishes, [name]: nextWish(wish) })}>
            {marks[wish]}
            <bdi>{name}</bdi>
          </button>
        );
      })}
    </div>
  );
}
