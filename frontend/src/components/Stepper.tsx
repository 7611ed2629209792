// One of several, with the way to the one before and the one after.
import type { ComponentChildren } from "preact";

export function Stepper({ label, text, onStep, children }: { label: string; text: string; onStep: (by: 1 | -1) => void; children?: ComponentChildren }) {
  return (
    <div class="stepper" role="group" aria-label={label}>
      {children}
      <button type="button" class="button icon" aria-label={`Previous ${label.toLowerCase()}`} title={`Previous ${label.toLowerCase()}`} onClick={() => onStep(-1)}>
        ◀
      </button>
      <span class="small num" aria-live="polite">
        {text}
      </span>
      <button type="button" class="button icon" aria-label={`Next ${label.toLowerCase()}`} title={`Next ${label.toLowerCase()}`} onClick={() => onStep(1)}>
        ▶
      </button>
    </div>
  );
}
