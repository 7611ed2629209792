// The one list of a report: controls, laws and rules with one search and one set of filters; places and sensors by name.
import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ControlLine } from "../components/ControlLine";
import { RuleDetail, RuleTable } from "../components/RuleTable";
import { ReviewBadge } from "../components/ReviewBadge";
import { isFiltered, NO_FILTER, passes, passesLogic, sorted, type Filter, type Sort } from "../components/rules";
import { hasWords, search } from "../components/search";
import { number, percent, plural, sentence, whole, words } from "../format";
import { useSearchKey } from "../hooks";
import type { ControlRow, DrawnNode, LawRow, Review, RuleRow } from "../types";
import { Evidence, Section, nodesOf, useShared } from "./parts";

const PAGE = 30;
const MOST_HITS = 8;
/** So many of each fit on the second sheet of paper. */
const PRINTED = 10;
type What = "" | "control" | "law" | "rule" | "place" | "sensor";

interface Hit {
  kind: "place" | "sensor";
  name: string;
  what: string;
  node: string;
}

/** Places and sensors of the drawing whose names have the words. */
function hitsOf(nodes: readonly DrawnNode[], text: string): Hit[] {
  if (text.trim() === "") return [];
  const found: Hit[] = [];
  for (const { id, name, classes, sensors, kinds } of nodes) {
    const what = classes.join(", ");
    if (hasWords([id, id.replaceAll("_", " "), name, what], text)) found.push({ kind: "place", name: id, what, node: id });
    for (const sensor of sensors) if (hasWords([sensor, sensor.replaceAll("_", " "), kinds.join(" "), `at ${id}`], text)) found.push({ kind: "sensor", name: sensor, what: `at ${id}`, node: id });
  }
  const wanted = text.trim().toLowerCase();
  const rank = ({ kind, name }: Hit): number => (name.toLowerCase() === wanted ? 0 : 2) + (kind === "place" ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b));
}

export interface ListProps {
  filter: Filter;
  change: (part: Partial<Filter>) => void;
}

export function Findings({ filter, change }: ListProps) {
  const { report, cards, hint, light, printing } = useShared();
  const { rules, laws, controls } = report;
  const [what, setWhat] = useState<What>("");
  const [sort, setSort] = useState<Sort | null>(null);
  const [limit, setLimit] = useState(PAGE);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const field = useSearchKey();
  const byId = useMemo(() => new Map(rules.map((rule) => [rule.id, rule])), [rules]);
  const found = useMemo(() => {
    const having = new Set(search(report.search, filter.text).map(({ kind, id }) => `${kind} ${id}`));
    const passing = new Set(rules.filter((rule) => having.has(`rule ${rule.id}`) && passes(rule, filter)).map((rule) => rule.id));
    return {
      control: controls.filter((row) => row.members.some((id) => having.has(`control ${id}`)) && passesLogic(row, row.switches > 0 ? row.explained / row.switches : null, filter)),
      law: laws.filter((row) => having.has(`law ${row.id}`) && passesLogic(row, row.share, filter)),
      // Of a family the first rule that passes is listed, with the others that do as its variants.
      rule: rules
        .filter((rule) => rule.shown_with === null)
        .map((rule) => rule.members.filter((id) => passing.has(id)))
        .flatMap((members) => { const first = byId.get(members[0] ?? -1); return first === undefined ? [] : [{ ...first, members }]; }),
    };
  }, [report, filter]);
  const hits = useMemo(() => hitsOf(report.drawing?.nodes ?? [], filter.text), [report, filter.text]);
  const listed = useMemo(() => sorted(found.rule, sort), [found, sort]);
  const counts: Record<What, number> = {
    "": found.control.length + found.law.length + found.rule.length,
    control: found.control.length,
    law: found.law.length,
    rule: found.rule.length,
    place: hits.filter((hit) => hit.kind === "place").length,
    sensor: hits.filter((hit) => hit.kind === "sensor").length,
  };
  const shows = (kind: What): boolean => what === kind || (what === "" && kind !== "place" && kind !== "sensor");
  const logic = [...(shows("control") ? found.control : []), ...(shows("law") ? found.law : [])];
  const most = printing ? PRINTED : limit;
  const things = hits.filter((hit) => what === "" || what === hit.kind);
  const toggle = (id: number) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const hover = (id: number | null) => {
    const rule = id === null ? undefined : rules.find((one) => one.id === id);
    hint(rule?.card ? nodesOf(cards.get(rule.card)) : []);
  };
  const variants = rules.length - rules.filter((rule) => rule.shown_with === null).length;
  const titles: [What, string][] = [["", "All"], ["control", "Controls"], ["law", "Laws"], ["rule", "Rules"], ["place", "Places"], ["sensor", "Sensors"]];
  const nothing = counts[what] === 0 && things.length === 0;
  if (rules.length + laws.length + controls.length === 0) {
    return (
      <Section id="findings" title="Findings" lead={report.mining.rules_found > 0 ? `${plural(report.mining.rules_found, "rule")} met the thresholds; none of them remained.` : "No rule met the thresholds."}>
        {null}
      </Section>
    );
  }
  return (
    <Section id="findings" title="Findings">
      <Filters filter={filter} change={change} fieldRef={field} />
      <div class="found">
        <div class="chips no-print" role="group" aria-label="What is listed">
          {titles
            .filter(([kind]) => kind === "" || kind === what || counts[kind] > 0)
            .map(([kind, title]) => (
              <button key={kind} type="button" class="chip" aria-pressed={what === kind} onClick={() => setWhat(kind)}>
                {title} <span class="num">{whole(counts[kind])}</span>
              </button>
            ))}
        </div>
        <p role="status">
          {nothing ? "No finding fits." : `${plural(counts[""], "finding")}${!isFiltered(filter) && variants > 0 ? ` with ${plural(variants, "variant")}` : ""}`}
        </p>
        <Choices filter={filter} change={change} clear={() => change(NO_FILTER)} />
      </div>
      {things.length > 0 && (
        <ul class="hits no-print" aria-label="Places and sensors">
          {(what === "" ? things.slice(0, MOST_HITS) : things).map((hit) => (
            <li key={`${hit.kind} ${hit.name}`}>
              <button
                type="button"
                class="link"
                onClick={() => {
                  light([hit.node]);
                  document.getElementById("graph")?.scrollIntoView({ block: "start" });
                }}
              >
                {hit.name}
              </button>{" "}
              <span class="muted small">
                {hit.kind} · {hit.what}
              </span>
            </li>
          ))}
        </ul>
      )}
      {logic.length > 0 && (
        <ul class="statements">
          {(printing ? logic.slice(0, PRINTED) : logic).map((row) => (row.kind === "control" ? <ControlItem key={`control ${row.id}`} control={row} /> : <LawItem key={`law ${row.id}`} law={row} />))}
        </ul>
      )}
      {shows("rule") && listed.length > 0 && (
        <RuleTable
          rules={listed.slice(0, most)}
          sort={sort}
          onSort={setSort}
          open={open}
          onOpen={toggle}
          onHover={hover}
          detail={(rule: RuleRow) => <RuleDetail rule={rule}>{rule.card !== null && <Evidence of={rule.card} />}</RuleDetail>}
        />
      )}
      {shows("rule") && listed.length > limit && (
        <p class="more no-print">
          <button type="button" class="button" onClick={() => setLimit(limit + 100)}>
            Show {Math.min(100, listed.length - limit)} more
          </button>{" "}
          <span class="muted small">
            {whole(limit)} of {whole(listed.length)} are listed
          </span>
        </p>
      )}
      {printing && (logic.length > PRINTED || listed.length > PRINTED) && <p class="muted small">The first {whole(PRINTED)} rules and the first {whole(PRINTED)} others are printed.</p>}
      {report.rules_left_out > 0 && (
        <p class="muted small">
          {plural(report.rules_left_out, "rule")} of the run {report.rules_left_out === 1 ? "is" : "are"} not on this page; <code>thence show</code> and <code>thence explore</code> show them all.
        </p>
      )}
    </Section>
  );
}

function Least({ label, value, onChange, step, max }: { label: string; value: number | null; onChange: (value: number | null) => void; step: number; max?: number }) {
  return (
    <div class="field least">
      <label>
        {label}
        <input
          class="input"
          type="number"
          min={0}
          {...(max === undefined ? {} : { max })}
          step={step}
          inputMode="decimal"
          placeholder="any"
          value={value ?? ""}
          onInput={(event) => {
            const typed = Number.parseFloat(event.currentTarget.value);
            onChange(Number.isFinite(typed) ? typed : null);
          }}
        />
      </label>
    </div>
  );
}

function Filters({ filter, change, fieldRef }: ListProps & { fieldRef: RefObject<HTMLInputElement | null> }) {
  const { report } = useShared();
  const kinds = useMemo(() => {
    const counts = new Map<string, number>();
    const rows = [...report.controls, ...report.laws, ...report.rules.filter((rule) => rule.shown_with === null)];
    for (const row of rows) for (const kind of row.kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 14);
  }, [report]);
  const flip = (kind: string) => change({ kinds: filter.kinds.includes(kind) ? filter.kinds.filter((one) => one !== kind) : [...filter.kinds, kind], chosen: null });
  return (
    <div class="filters no-print" role="search" aria-label="Findings, places and sensors">
      <div class="field text">
        <label>
          Search
          <input
            ref={fieldRef}
            class="input"
            type="search"
            aria-keyshortcuts="Control+K"
            placeholder="Words of a finding, a place, a sensor (Ctrl K)"
            value={filter.text}
            onInput={(event) => change({ text: event.currentTarget.value, chosen: null })}
          />
        </label>
      </div>
      <Least label="Min. confidence" step={0.05} max={1} value={filter.confidence} onChange={(confidence) => change({ confidence, chosen: null })} />
      <Least label="Min. support" step={0.01} max={1} value={filter.support} onChange={(support) => change({ support, chosen: null })} />
      <Least label="Min. lift" step={0.1} value={filter.lift} onChange={(lift) => change({ lift, chosen: null })} />
      {kinds.length > 1 && (
        <div class="chips kinds-chips" role="group" aria-label="Quantity">
          {kinds.map(([kind, count]) => (
            <button key={kind} type="button" class="chip" aria-pressed={filter.kinds.includes(kind)} onClick={() => flip(kind)}>
              {words(kind)} <span class="muted num">{whole(count)}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function Choices({ filter, change, clear }: ListProps & { clear: () => void }) {
  const { cell, region, chosen } = filter;
  const chips: [string, () => void][] = [];
  if (chosen !== null) chips.push(["one rule of the chart", () => change({ chosen: null })]);
  if (cell) chips.push([`${words(cell[0])} → ${words(cell[1])}`, () => change({ cell: null })]);
  if (region) chips.push([`support ${number(region.x[0], 2)}–${number(region.x[1], 2)}, confidence ${number(region.y[0], 2)}–${number(region.y[1], 2)}`, () => change({ region: null })]);
  if (!isFiltered(filter)) return null;
  return (
    <div class="chips no-print">
      {chips.map(([text, drop], at) => (
        <button key={at} type="button" class="chip choice" aria-pressed="true" aria-label={`Drop: ${text}`} onClick={drop}>
          {text} <span aria-hidden="true">×</span>
        </button>
      ))}
      <button type="button" class="link small" onClick={clear}>
        Clear all filters
      </button>
    </div>
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
        Law. Held in {whole(law.held)} of {plural(law.rows, "row")} ({percent(law.share, 2)}) at {law.places_held === law.places ? plural(law.places, "place") : `${whole(law.places_held)} of ${plural(law.places, "place")}`}
        {law.later_share !== null && `; ${percent(law.later_share, 2)} on the later part that it was not fitted on`}.
        {law.exceptions.length > 0 && ` Not at ${law.exceptions.slice(0, 6).join(", ")}${law.exceptions.length > 6 ? ` and ${law.exceptions.length - 6} more` : ""}.`}
      </p>
      <Reviewed review={law.review} />
      <EvidenceToggle card={law.card} />
    </li>
  );
}

function ControlItem({ control }: { control: ControlRow }) {
  return (
    <li class={control.review?.verdict === "rejected" ? "rejected" : ""}>
      <p dir="auto">
        <ControlLine control={control} /> · {whole(control.explained)} of {whole(control.switches)}
      </p>
      <p class="muted small" dir="auto">
        Control. {sentence(control.sentence)}.
      </p>
      <Reviewed review={control.review} />
      <EvidenceToggle card={control.card} />
    </li>
  );
}
