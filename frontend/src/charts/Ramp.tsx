// The legend of a colour ramp.
import { ramp } from "./scales";

const STEPS = 24;

export function Ramp({ from, to, title }: { from: string; to: string; title: string }) {
  return (
    <span class="ramp">
      {title} {from}
      <svg viewBox={`0 0 ${STEPS} 1`} width="120" height="10" preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, at) => (
          <rect key={at} x={at} width="1.05" height="1" fill={ramp(at / (STEPS - 1))} />
        ))}
      </svg>
      {to}
    </span>
  );
}
