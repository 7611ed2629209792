// Known rules, laws and controls: what was known before, what the plant always obeys, what makes actuators switch.
import { useState } from "preact/hooks";
import { ReviewBadge } from "../components/ReviewBadge";
import { percent, plural, sentence, whole } from "../format";
import type { ControlRow, KnownRow, LawRow, Review } from "../types";
import { Evidence, Section, useShared } from "./parts";

const FIRST = 12;

export function Statements() {
  const { report, printing } = useShared();
  const [laws, controls] = [report.laws, report.controls];
  const [all, setAll] = useState(false);
  if (laws.length === 0 && controls.length === 0) return null;
  const shown = all || printing ? laws : laws.slice(0, FIRST);
  const title = laws.length > 0 && controls.length > 0 ? "Laws and controls" : laws.length > 0 ? "Laws" : "Controls";
  return (
    <Section id="laws" title={title}>
      {laws.length > 0 && (
        <div>
          <h3>{plural(laws.length, "law")}: what the quantities always obey</h3>
          <ul class="statements">
            {shown.map((law) => (
              <LawItem key={law.id} law={law} />
            ))}
          </ul>
          {shown.length < laws.length && (
            <button type="button" class="button no-print" onClick={() => setAll(true)}>
              Show {plural(laws.length - shown.length, "more law")}
            </button>
          )}
        </div>
      )}
      {controls.length > 0 && (
        <div>
          <h3>{plural(controls.length, "control")}: what makes actuators switch</h3>
          <ul class="statements">
            {byActuator(controls).map((group) => (
              <li key={group[0]?.id}>
                {group.map((control) => (
                  <ControlItem key={control.id} control={control} />
                ))}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}

/** The controls and laws of a search, which come before the rules. */
export function Matching({ laws, controls }: { laws: ReadonlySet<number>; controls: ReadonlySet<number> }) {
  const { report } = useShared();
  if (laws.size + controls.size === 0) return null;
  return (
    <ul class="statements matching">
      {report.controls.map(
        (control) =>
          controls.has(control.id) && (
            <li key={`control ${control.id}`}>
              <ControlItem control={control} />
            </li>
          ),
      )}
      {report.laws.map((law) => laws.has(law.id) && <LawItem key={`law ${law.id}`} law={law} />)}
    </ul>
  );
}

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

function EvidenceToggle({ card }: { card: string | null }) {
  const { cards } = useShared();
  const [open, setOpen] = useState(false);
  if (card === null || !cards.has(card)) return null;
  return (
    <>
      <button type="button" class="link small no-print" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide the evidence" : "See the evidence"}
      </button>
      {open && <Evidence of={card} />}
    </>
  );
}

/** What a person said of a law or a control, with the note in full. */
function Reviewed({ review }: { review: Review | null }) {
  if (review === null) return null;
  return (
    <p class="small">
      <ReviewBadge review={{ verdict: review.verdict, note: "" }} /> {review.note && <span dir="auto">{review.note}</span>}
    </p>
  );
}

function LawItem({ law }: { law: LawRow }) {
  return (
    <li class={law.review?.verdict === "rejected" ? "rejected" : ""}>
      <p dir="auto">{sentence(law.sentence)}</p>
      <p class="muted small">
        Held in {whole(law.held)} of {plural(law.rows, "row")} ({percent(law.share, 2)}) at {law.places_held === law.places ? plural(law.places, "place") : `${whole(law.places_held)} of ${plural(law.places, "place")}`}
        {law.later_share !== null && `; ${percent(law.later_share, 2)} on the later part that it was not fitted on`}.
        {law.exceptions.length > 0 && ` Not at ${law.exceptions.slice(0, 6).join(", ")}${law.exceptions.length > 6 ? ` and ${law.exceptions.length - 6} more` : ""}.`}
      </p>
      <Reviewed review={law.review} />
      <EvidenceToggle card={law.card} />
    </li>
  );
}

/** Controls of one actuator by one reading belong together: what opens it and what closes it. */
function byActuator(controls: ControlRow[]): ControlRow[][] {
  const groups = new Map<string, ControlRow[]>();
  for (const control of controls) {
    const key = JSON.stringify([control.actuator, control.sensor]);
    groups.set(key, [...(groups.get(key) ?? []), control]);
  }
  return [...groups.values()];
}

function ControlItem({ control }: { control: ControlRow }) {
  return (
    <div class={control.review?.verdict === "rejected" ? "rejected" : ""}>
      <p dir="auto">{sentence(control.sentence)}</p>
      <Reviewed review={control.review} />
      <EvidenceToggle card={control.card} />
    </div>
  );
}
