// The rules at work: on later data, and as a detector.
import { useState } from "preact/hooks";
import { Dumbbell, VerdictBar, verdictColour } from "../charts/Bars";
import { Figure } from "../charts/Figure";
import { GraphDrawing } from "../charts/GraphDrawing";
import { Ramp } from "../charts/Ramp";
import { extent } from "../charts/scales";
import { ScoreChart, ShareChart } from "../charts/TimeCharts";
import { number, percent, period, plural, moment, sentence, whole } from "../format";
import type { Alarm, Applied, Detected } from "../types";
import { Section, useShared } from "./parts";

const FIRST = 20;

export function AppliedSection({ applied, at }: { applied: Applied; at: number }) {
  const [all, setAll] = useState(false);
  const rules = all ? applied.rules : applied.rules.slice(0, FIRST);
  // One scale for all: it begins at a round share below the lowest.
  const [lowest] = extent(applied.rules.flatMap(({ before, after }) => [before, after])) ?? [0];
  const low = Math.min(0.9, Math.floor(lowest * 10) / 10);
  const when = applied.start !== null && applied.end !== null ? `, ${period(applied.start, applied.end)}` : "";
  return (
    <Section id={`applied-${at}`} title={`On other data: ${applied.name}`} lead={`What became of the rules${when}.`}>
      {applied.sentences.length > 0 && (
        <ul class="statements">
          {applied.sentences.map((text, index) => (
            <li key={index} dir="auto">
              {sentence(text)}
            </li>
          ))}
        </ul>
      )}
      {applied.verdicts.length > 0 && (
        <Figure title="Verdicts">
          <VerdictBar verdicts={applied.verdicts} />
        </Figure>
      )}
      {applied.held.length > 0 && (
        <Figure
          title="Held over time"
          note="The share of the times in which a rule applied and held."
          data={{ columns: ["Period", "Held"], rows: () => applied.held.map((share, index) => [period(applied.edges[index] ?? 0, applied.edges[index + 1] ?? 0), percent(share)]), numeric: [1] }}
        >
          <ShareChart edges={applied.edges} shares={applied.held} what="Share of the times in which a rule applied and held" />
        </Figure>
      )}
      {rules.length > 0 && (
        <div class="scroll">
          <table class="table then-now">
            <caption>
              <h3>Then and now</h3>
              <p class="muted small">Confidence in the run (ring) and on these data (dot), on a scale from {percent(low, 0)} to {percent(1)}.</p>
            </caption>
            <thead>
              <tr>
                <th scope="col">Rule</th>
                <th scope="col">Verdict</th>
                <th scope="col">Then and now</th>
                <th scope="col" class="num">
                  Violated
                </th>
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <tr key={rule.id}>
                  <td dir="auto">{sentence(rule.sentence)}</td>
                  <td class="nowrap">
                    <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
                      <circle cx="5" cy="5" r="4.5" fill={verdictColour(rule.verdict)} />
                    </svg>{" "}
                    {rule.verdict}
                  </td>
                  <td>
                    <div class="pair">
                      <Dumbbell rule={rule} low={low} />
                      <span class="small muted num">
                        {percent(rule.before)} → {percent(rule.after)}
                      </span>
                    </div>
                  </td>
                  <td class="num">
                    {whole(rule.violated)} <span class="muted small">of {whole(rule.rows)}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rules.length < applied.rules.length && (
        <button type="button" class="button no-print" onClick={() => setAll(true)}>
          Show {plural(applied.rules.length - rules.length, "more rule")}
        </button>
      )}
    </Section>
  );
}

export function DetectedSection({ detected, at }: { detected: Detected; at: number }) {
  const { report } = useShared();
  const { alarms } = detected;
  const [chosen, setChosen] = useState<number | null>(alarms.length > 0 ? 0 : null);
  const alarm = chosen === null ? undefined : alarms[chosen];
  return (
    <Section id={`detected-${at}`} title={`Alarms: ${detected.name}`} lead={alarms.length === 0 ? "The score never stayed above the threshold: no alarm." : `${plural(alarms.length, "alarm")}.`}>
      <Figure
        title="Score over time"
        note="A score above the threshold is an alarm."
        data={{ columns: ["Time", "Score"], rows: () => detected.times.map((time, index) => [moment(time), number(detected.score[index], 3)]), numeric: [1] }}
      >
        <ScoreChart detected={detected} chosen={chosen} onChoose={setChosen} />
      </Figure>
      {alarms.length > 0 && (
        <ol class="alarms">
          {alarms.map((one, index) => (
            <li key={index} class={chosen === index ? "chosen" : ""}>
              <button type="button" class="unfold" aria-expanded={chosen === index} onClick={() => setChosen(chosen === index ? null : index)}>
                <svg class="caret" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
                  <path d="M3 1l4 4-4 4" fill="none" stroke="currentColor" stroke-width="1.6" />
                </svg>
                <span dir="auto">{sentence(one.sentence)}</span>
              </button>
              {!/\bscore\b/.test(one.sentence) && (
                <p class="muted small">
                  {period(one.start, one.end)} · score {number(one.score, 3)}
                </p>
              )}
              {chosen === index && (
                <ul class="notes">
                  {one.reasons.map((reason, place) => (
                    <li key={place} dir="auto">
                      {sentence(reason)}
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ol>
      )}
      {alarm && report.drawing && alarm.located.length > 0 && <Located alarm={alarm} />}
    </Section>
  );
}

function Located({ alarm }: { alarm: Alarm }) {
  const { report } = useShared();
  const drawing = report.drawing;
  if (!drawing) return null;
  const weights = new Map(alarm.located.map(([node, weight]) => [String(node), Number(weight)]));
  const most = Math.max(1e-12, ...weights.values());
  const shares = new Map<number, number>();
  drawing.nodes.forEach((node, index) => {
    const weight = weights.get(node.id);
    if (weight !== undefined) shares.set(index, weight / most);
  });
  if (shares.size === 0) return null;
  const first = String(alarm.located[0]?.[0] ?? "");
  return (
    <Figure
      title="Where"
      note={`The most suspect part of the graph: ${drawing.nodes.find((node) => node.id === first)?.name ?? first}.`}
      data={{ columns: ["Node", "Weight"], rows: () => alarm.located.map(([node, weight]) => [String(node), number(Number(weight), 3)]), numeric: [1] }}
    >
      <Ramp title="suspicion" from="none" to="highest" />
      <GraphDrawing drawing={drawing} shares={shares} shareText={(share) => `${percent(share)} of the highest suspicion`} highlight={new Set([first])} maxHeight={420} summary={`Drawing of the graph with the ${plural(shares.size, "most suspect node")} coloured.`} />
    </Figure>
  );
}
