// A cursor over a chart of time: the pointer moves it, and so do the arrow keys.
import type { ComponentChildren } from "preact";
import { nearest, type Scale } from "./scales";

interface CursorProps {
  times: readonly number[];
  /** From times to pixels of the drawing, whose width is `width`. */
  x: Scale;
  width: number;
  label: string;
  index: number | null;
  onMove: (index: number | null) => void;
  /** What is at a position, in words, for screen readers. */
  describe: (index: number) => string;
}

export function CursorLayer({ times, x, width, label, index, onMove, describe }: CursorProps) {
  const last = times.length - 1;
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    onMove(nearest(times, x.invert(at)));
  };
  const key = (event: KeyboardEvent) => {
    const now = index ?? 0;
    const page = Math.max(1, Math.round(times.length / 10));
    const moves: Record<string, number | null> = {
      ArrowRight: index === null ? 0 : now + 1,
      ArrowUp: now + 1,
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      PageUp: now + page,
      PageDown: now - page,
      Home: 0,
      End: last,
      Escape: null,
    };
    if (!(event.key in moves)) return;
    const next = moves[event.key] ?? null;
    onMove(next === null ? null : Math.min(last, Math.max(0, next)));
    event.preventDefault();
  };
  if (last < 0) return null;
  return (
    <div
      class="cursor-layer no-print"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={index ?? 0}
      aria-valuetext={describe(index ?? 0)}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => onMove(null)}
      onKeyDown={key}
      onBlur={() => onMove(null)}
    />
  );
}

/** A box beside the cursor, on the side with more room. `at` is a share of the width. */
export function Tip({ at, top = 0, children }: { at: number; top?: number; children: ComponentChildren }) {
  const left = at < 0.5;
  return (
    <div class="tip" aria-hidden="true" style={{ top: `${top}px`, ...(left ? { left: `calc(${at * 100}% + 12px)` } : { right: `calc(${(1 - at) * 100}% + 12px)` }) }}>
      {children}
    </div>
  );
}
