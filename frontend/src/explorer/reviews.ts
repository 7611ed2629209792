// Reviews of rules, laws and controls: sent to the server, shown at once, and undone on request.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Review } from "../types";
import { problemOf } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";

/** What can be reviewed: a rule, a law or a control. */
export interface Reviewable {
  key: string;
  /** All keys, if it is several controls. */
  keys?: readonly string[];
  review: Review | null;
}

interface Step {
  run: number;
  keys: readonly string[];
  before: Review;
}

export interface Reviews {
  /** Says something of a rule, a law or a control; what is not said stays as it is. */
  review: (run: number, of: Reviewable, noun: string, change: Partial<Review>) => void;
  undo: () => void;
  /** What was done last, in words; empty after a while. */
  message: string;
  canUndo: boolean;
  problem: ProblemError | null;
  /** Changes whenever the server has kept a review. */
  version: number;
  close: () => void;
}

const nothing: Review = { verdict: "", note: "" };
const shownFor = 8000;
// Milliseconds in which what is shown may be older than what was sent.
const settlesIn = 5000;

function words(noun: string, before: Review, after: Review): string {
  if (after.verdict !== before.verdict)
    return after.verdict === "" ? "Verdict taken back." : `${noun.charAt(0).toUpperCase()}${noun.slice(1)} ${after.verdict}.`;
  return after.note ? "Note saved." : "Note removed.";
}

export function useReviews(): Reviews {
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState<ProblemError | null>(null);
  const [version, setVersion] = useState(0);
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const latest = useRef(steps);
  latest.current = steps;
  const sent = useRef(new Map<string, { review: Review; at: number }>());
  useEffect(() => {
    if (message === "") return undefined;
    const timer = window.setTimeout(() => setMessage(""), shownFor);
    return () => window.clearTimeout(timer);
  }, [message, version]);
  const send = useCallback(async (run: number, keys: readonly string[], review: Review): Promise<boolean> => {
    try {
      for (const key of keys) await api.review(run, { key, verdict: review.verdict, note: review.note });
      sent.current.set(`${run} ${keys[0]}`, { review, at: Date.now() });
      setProblem(null);
      setVersion((last) => last + 1);
      return true;
    } catch (error) {
      setProblem(problemOf(error));
      return false;
    }
  }, []);
  const review = useCallback((run: number, of: Reviewable, noun: string, change: Partial<Review>): void => {
    const own = sent.current.get(`${run} ${of.key}`);
    const before = own !== undefined && Date.now() - own.at < settlesIn ? own.review : (of.review ?? nothing);
    const after = { ...before, ...change };
    if (before.verdict === after.verdict && before.note === after.note) return;
    const keys = of.keys ?? [of.key];
    void send(run, keys, after).then((kept) => {
      if (!kept) return;
      setSteps((last) => [...last, { run, keys, before }]);
      setMessage(words(noun, before, after));
    });
  }, []);
  const undo = useCallback((): void => {
    const step = latest.current.at(-1);
    if (step === undefined) return;
    void send(step.run, step.keys, step.before).then((kept) => {
      if (!kept) return;
      setSteps((last) => last.slice(0, -1));
      setMessage("Undone.");
    });
  }, []);
  const close = useCallback(() => {
    setMessage("");
    setProblem(null);
  }, []);
  return { review, undo, message, canUndo: steps.length > 0, problem, version, close };
}
