// Bars of parts and pairs of values: stages of the work, verdicts, then and now.
import { duration, fixed, percent, plural, whole } from "../format";
import { useWidth } from "../hooks";
import type { AppliedRule, Count, Stage } from "../types";
import { linear } from "./scales";

const SHADES = [0.95, 0.72, 0.52, 0.36, 0.24, 0.6, 0.44];

export function StagesBar({ stages }: { stages: Stage[] }) {
  const total = stages.reduce((sum, stage) => sum + stage.seconds, 0);
  if (total <= 0) return null;
  let at = 0;
  const parts = stages.map((stage, index) => {
    const from = at;
    at += (stage.seconds / total) * 100;
    return { stage, from, wide: at - from, shade: SHADES[index % SHADES.length] };
  });
  return (
    <div class="stages">
      <svg class="bar" viewBox="0 0 100 4" width="100%" height="18" preserveAspectRatio="none" role="img" aria-label={`${duration(total)} in all: ${stages.map((stage) => `${stage.name} ${duration(stage.seconds)}`).join(", ")}`}>
        {parts.map(({ from, wide, shade }, index) => (
          <rect key={index} x={from} width={Math.max(0, wide - 0.15)} height="4" fill="var(--accent)" opacity={shade} />
        ))}
      </svg>
      <ul class="legend">
        {parts.map(({ stage, shade }, index) => (
          <li key={index}>
            <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
              <rect width="12" height="12" rx="2" fill="var(--accent)" opacity={shade} />
            </svg>
            {stage.name} <span class="num">{duration(stage.seconds)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

const VERDICT_COLOURS: [RegExp, string][] = [
  [/no longer|weaker|violat|fail|broken|worse|lost/i, "var(--c4)"],
  [/hold|held|satisf|kept|same/i, "var(--c0)"],
  [/few|little|never|not bound|left out|not applicable|does not apply|unclear|undecided/i, "var(--c7)"],
  [/missing/i, "var(--c6)"],
];

export function verdictColour(name: string): string {
  return VERDICT_COLOURS.find(([pattern]) => pattern.test(name))?.[1] ?? "var(--c3)";
}

export function VerdictBar({ verdicts }: { verdicts: Count[] }) {
  const total = verdicts.reduce((sum, verdict) => sum + verdict.count, 0);
  if (total === 0) return null;
  let at = 0;
  return (
    <div class="stages">
      <svg class="bar" viewBox="0 0 100 4" width="100%" height="22" preserveAspectRatio="none" role="img" aria-label={verdicts.map((verdict) => `${verdict.name}: ${plural(verdict.count, "rule")}`).join("; ")}>
        {verdicts.map((verdict, index) => {
          const from = at;
          at += (verdict.count / total) * 100;
          return <rect key={index} x={from} width={Math.max(0, at - from - 0.15)} height="4" fill={verdictColour(verdict.name)} />;
        })}
      </svg>
      <ul class="legend">
        {verdicts.map((verdict, index) => (
          <li key={index}>
            <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
              <rect width="12" height="12" rx="2" fill={verdictColour(verdict.name)} />
            </svg>
            {verdict.name} <b class="num">{whole(verdict.count)}</b> ({percent(verdict.count / total)})
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Confidence then (ring) and now (dot, in the colour of the verdict), on a scale from `low` to 1. */
export function Dumbbell({ rule, low = 0 }: { rule: AppliedRule; low?: number }) {
  const [ref, width] = useWidth<HTMLDivElement>(200);
  const x = linear([low, 1], [7, width - 7]);
  const { before, after } = rule;
  const colour = verdictColour(rule.verdict);
  return (
    <div class="dumbbell" ref={ref}>
      <svg viewBox={`0 0 ${width} 18`} width={width} height="18" role="img" aria-label={`confidence ${fixed(before)} then, ${fixed(after)} now`}>
        <line x1={x(low)} x2={x(1)} y1="9" y2="9" stroke="var(--line)" />
        {before !== null && after !== null && <line x1={x(before)} x2={x(after)} y1="9" y2="9" stroke={colour} stroke-width="2.5" />}
        {before !== null && <circle cx={x(before)} cy="9" r="5" fill="var(--bg)" stroke="var(--muted)" stroke-width="1.8" />}
        {after !== null && <circle cx={x(after)} cy="9" r="4" fill={colour} />}
      </svg>
    </div>
  );
}
