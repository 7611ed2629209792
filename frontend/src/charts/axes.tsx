// Axes as SVG groups.
import { timeTicks, type Scale, type Tick } from "./scales";

export function TimeAxis({ x, y, height = 0 }: { x: Scale; y: number; height?: number }) {
  const [left, right] = x.range;
  const ticks = timeTicks(x, Math.max(2, Math.round((right - left) / 110)));
  return (
    <g aria-hidden="true">
      <g class="axis base">
        <line x1={left} x2={right} y1={y} y2={y} />
      </g>
      {ticks.map(({ value, at, label }) => (
        <g key={value} class="axis">
          <line x1={at} x2={at} y1={y - height} y2={y + 4} />
          <text x={at} y={y + 17} text-anchor={at < left + 18 ? "start" : at > right - 18 ? "end" : "middle"}>
            {label}
          </text>
        </g>
      ))}
    </g>
  );
}

export function LeftAxis({ ticks, x, right }: { ticks: Tick[]; x: number; right: number }) {
  return (
    <g aria-hidden="true">
      {ticks.map(({ value, at, label }) => (
        <g key={value} class="axis">
          <line x1={x} x2={right} y1={at} y2={at} />
          <text x={x - 8} y={at + 4} text-anchor="end">
            {label}
          </text>
        </g>
      ))}
    </g>
  );
}
