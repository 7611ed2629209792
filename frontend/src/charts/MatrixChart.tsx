// Which quantities imply which: a table whose cells are circles, large for many rules.
import { percent, plural, words } from "../format";
import type { Matrix } from "../types";
import { ramp } from "./scales";
import { Ramp } from "./Ramp";

interface MatrixChartProps {
  matrix: Matrix;
  chosen: [number, number] | null;
  onChoose: (cell: [number, number] | null) => void;
}

export function MatrixChart({ matrix, chosen, onChoose }: MatrixChartProps) {
  const { quantities, cells } = matrix;
  if (cells.length === 0) return null;
  const most = Math.max(...cells.map((cell) => cell.rules));
  const shares = cells.flatMap((cell) => (cell.confidence === null ? [] : [cell.confidence]));
  const low = Math.min(1, ...shares);
  const shade = (value: number | null) => (value === null ? "var(--line-strong)" : low < 1 ? ramp((value - low) / (1 - low)) : ramp(1));
  const found = new Map(cells.map((cell) => [`${cell.source}:${cell.target}`, cell]));
  const sources = quantities.map((_, at) => at).filter((at) => cells.some((cell) => cell.source === at));
  const targets = quantities.map((_, at) => at).filter((at) => cells.some((cell) => cell.target === at));
  return (
    <div>
      <div class="scroll">
        <table class={`matrix${targets.length > 8 ? " dense" : ""}`}>
          <caption class="sr-only">Number of rules from each quantity (row) to each quantity (column)</caption>
          <thead>
            <tr>
              <td class="muted">
                if ↓ <span class="nowrap">then →</span>
              </td>
              {targets.map((at) => (
                <th key={at} scope="col" title={quantities[at]}>
                  <span>{words(quantities[at] ?? "")}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sources.map((source) => (
              <tr key={source}>
                <th scope="row" title={quantities[source]}>
                  {words(quantities[source] ?? "")}
                </th>
                {targets.map((target) => {
                  const cell = found.get(`${source}:${target}`);
                  if (!cell) return <td key={target} />;
                  const pressed = chosen !== null && chosen[0] === source && chosen[1] === target;
                  const text = `${plural(cell.rules, "rule")} from ${words(quantities[source] ?? "")} to ${words(quantities[target] ?? "")}, best confidence ${percent(cell.confidence)}`;
                  return (
                    <td key={target}>
                      <button type="button" aria-pressed={pressed} aria-label={text} title={text} onClick={() => onChoose(pressed ? null : [source, target])}>
                        <svg viewBox="-14 -14 28 28" width="28" height="28" aria-hidden="true">
                          <circle r={3 + 10 * Math.sqrt(cell.rules / most)} fill={shade(cell.confidence)} stroke="var(--muted)" stroke-width="0.8" />
                        </svg>
                      </button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="legend matrix-legend">
        <span>larger: more rules (at most {plural(most, "rule")})</span>
        {low < 1 && <Ramp title="best confidence" from={percent(low, 0)} to="100 %" />}
      </div>
    </div>
  );
}
