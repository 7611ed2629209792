// Answers of the server as they come in: nothing yet, the answer, or why there is none.
import { useEffect, useRef, useState } from "preact/hooks";
import { ProblemError } from "./api";

export interface Answer<T> {
  /** The latest answer; it stays while the next one is on its way. */
  value: T | null;
  problem: ProblemError | null;
  waiting: boolean;
}

/** Whether an error is a request that was given up because a later one replaced it. */
export function givenUp(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Any error as a problem in words. */
export function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new ProblemError({ error: `Something went wrong on this page: ${text}`, hint: "Load the page again." });
}

/**
 * The answer to a request that is made again whenever one of the inputs changes, after a pause if one is given.
 * An answer that was overtaken is dropped. With `keep`, the last answer stays while the next one is made.
 */
export function useAnswer<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | null,
  inputs: readonly unknown[],
  { pause = 0, keep = false }: { pause?: number; keep?: boolean } = {},
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ value: null, problem: null, waiting: ask !== null });
  const first = useRef(true);
  useEffect(() => {
    if (ask === null) {
      setAnswer({ value: null, problem: null, waiting: false });
      return undefined;
    }
    const control = new AbortController();
    setAnswer((last) => ({ value: keep ? last.value : null, problem: null, waiting: true }));
    const begin = (): void => {
      ask(control.signal).then(
        (value) => {
          if (!control.signal.aborted) setAnswer({ value, problem: null, waiting: false });
        },
        (error: unknown) => {
          if (!control.signal.aborted && !givenUp(error))
            setAnswer({ value: null, problem: problemOf(error), waiting: false });
        },
      );
    };
    const timer = first.current || pause === 0 ? 0 : window.setTimeout(begin, pause);
    if (timer === 0) begin();
    first.current = false;
    return () => {
      control.abort();
      window.clearTimeout(timer);
    };
  }, inputs);
  return answer;
}
