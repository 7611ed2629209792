// A search in the background: how far it is, and a way to stop it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { percent } from "../format";
import type { Job } from "../types";
import { problemOf } from "./answers";
import { api } from "./api";

const pause = 400;

/** Follows a job until it ends. */
export function useJob(first: Job | null, onEnd: (job: Job) => void): Job | null {
  const [job, setJob] = useState<Job | null>(first);
  useEffect(() => {
    setJob(first);
    if (first === null) return undefined;
    let ended = false;
    let timer = 0;
    const take = (next: Job): void => {
      if (ended) return;
      setJob(next);
      if (next.state === "running") timer = window.setTimeout(ask, pause);
      else onEnd(next);
    };
    const ask = (): void => {
      api.job(first.id).then(take, (error: unknown) => {
        const problem = problemOf(error);
        take({ ...first, state: "failed", message: [problem.message, problem.hint].filter(Boolean).join(" ") });
      });
    };
    take(first);
    return () => {
      ended = true;
      window.clearTimeout(timer);
    };
  }, [first]);
  return job;
}

export function JobBar({ job, onCancel, onClose }: { job: Job; onCancel: () => void; onClose: () => void }): JSX.Element {
  const running = job.state === "running";
  const titles: Record<Job["state"], string> = {
    running: job.stage === "" || job.stage === "start" ? "Starting the search…" : `${job.stage.charAt(0).toUpperCase()}${job.stage.slice(1)}…`,
    done: "Mined again.",
    failed: "The search failed.",
    cancelled: "The search was stopped.",
  };
  return (
    <div class={`job ${job.state}`} role="status" aria-live="polite">
      <div class="job-text">
        <b>{titles[job.state]}</b>
        {job.message && job.message !== job.state && <span class="muted"> {job.message}</span>}
      </div>
      {running && (
        <progress max={1} {...(job.share === null ? {} : { value: job.share })} aria-label="Progress of the search">
          {percent(job.share)}
        </progress>
      )}
      <button type="button" class="button" onClick={running ? onCancel : onClose}>
        {running ? "Stop" : "Close"}
      </button>
    </div>
  );
}
