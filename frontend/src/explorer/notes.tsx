// What stands in a part of the page while there is nothing else to show: waiting, nothing found, a problem.
import type { ComponentChildren, JSX } from "preact";
import type { ProblemError } from "./api";

export function Waiting({ children = "Loading…" }: { children?: ComponentChildren }): JSX.Element {
  return (
    <p class="note waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {children}
    </p>
  );
}

export function Nothing({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="note nothing">
      <p class="note-title">{title}</p>
      {children}
    </div>
  );
}

export function ProblemNote({ problem }: { problem: ProblemError }): JSX.Element {
  return (
    <div class="note problem" role="alert">
      <p class="note-title">{problem.message.charAt(0).toUpperCase() + problem.message.slice(1)}</p>
      {problem.hint && <p>{problem.hint.charAt(0).toUpperCase() + problem.hint.slice(1)}</p>}
    </div>
  );
}
