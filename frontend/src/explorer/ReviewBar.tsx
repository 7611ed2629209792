// What a person says of a rule, a law or a control: accept, reject, a note.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Review } from "../types";
import type { Reviewable } from "./reviews";

interface Props {
  of: Reviewable;
  /** What it is: a rule, a law or a control. */
  noun: string;
  /** Whether the note is being written. */
  writing: boolean;
  saved: boolean;
  onWriting: (writing: boolean) => void;
  onReview: (change: Partial<Review>) => void;
}

export function ReviewBar({ of, noun, writing, saved, onWriting, onReview }: Props): JSX.Element {
  const verdict = of.review?.verdict ?? "";
  const note = of.review?.note ?? "";
  const [text, setText] = useState(note);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(note), [of.key, note, writing]);
  useEffect(() => {
    if (writing) field.current?.focus();
  }, [writing]);
  const decide = (wanted: "accepted" | "rejected"): void => onReview({ verdict: verdict === wanted ? "" : wanted });
  return (
    <div class="review">
      <div class="buttons" role="group" aria-label={`Review of the ${noun}`}>
        <button type="button" class="button accept" aria-pressed={verdict === "accepted"} aria-keyshortcuts="a" onClick={() => decide("accepted")}>
          ✓ {verdict === "accepted" ? "Accepted" : "Accept"} <kbd aria-hidden="true">a</kbd>
        </button>
        <button type="button" class="button reject" aria-pressed={verdict === "rejected"} aria-keyshortcuts="r" onClick={() => decide("rejected")}>
          ✕ {verdict === "rejected" ? "Rejected" : "Reject"} <kbd aria-hidden="true">r</kbd>
        </button>
        <button type="button" class="button" aria-expanded={writing} aria-keyshortcuts="n" onClick={() => onWriting(!writing)}>
          {note ? "Edit note" : "Note"} <kbd aria-hidden="true">n</kbd>
        </button>
      </div>
      {!writing && note && (
        <blockquote class="note-text">
          <bdi>{note}</bdi>
        </blockquote>
      )}
      {!saved && <p class="small muted">This run is in memory: its reviews are lost when the explorer ends. A run that was saved keeps them.</p>}
      {writing && (
        <form
          class="note-form"
          onSubmit={(event) => {
            event.preventDefault();
            onReview({ note: text.trim() });
            onWriting(false);
          }}
        >
          <textarea
            ref={field}
            class="input"
            rows={3}
            maxLength={2000}
            aria-label={`Note on the ${noun}`}
            placeholder={`What should others know about this ${noun}?`}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                event.stopPropagation();
                onWriting(false);
              } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
          <div class="buttons">
            <button type="submit" class="button primary">
              Save note
            </button>
            <button type="button" class="button" onClick={() => onWriting(false)}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </div>
  );
}
