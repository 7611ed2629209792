// Legends of charts: a mark and its meaning.
import type { ComponentChildren } from "preact";

export function Legend({ children, label = "Legend" }: { children: ComponentChildren; label?: string }) {
  return (
    <ul class="legend" aria-label={label}>
      {children}
    </ul>
  );
}

export type Mark = "area" | "line" | "dot" | "ring" | "triangle" | "dash";

export function LegendItem({ mark, colour, children }: { mark: Mark; colour: string; children: ComponentChildren }) {
  return (
    <li>
      <svg width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
        {mark === "area" && <rect x="0" y="1" width="16" height="10" rx="2" fill={colour} />}
        {mark === "line" && <path d="M0 6H16" stroke={colour} stroke-width="2" />}
        {mark === "dash" && <path d="M0 6H16" stroke={colour} stroke-width="1.5" stroke-dasharray="4 3" />}
        {mark === "dot" && <circle cx="8" cy="6" r="4.5" fill={colour} />}
        {mark === "ring" && <circle cx="8" cy="6" r="4" fill="none" stroke={colour} stroke-width="2" />}
        {mark === "triangle" && <path d="M8 1.5L13 10.5H3z" fill={colour} />}
      </svg>
      <span>{children}</span>
    </li>
  );
}
