// What people said of a rule, a law or a control, as a mark.
import type { Review } from "../types";

export function ReviewBadge({ review }: { review: Review | null }) {
  if (review === null) return null;
  return (
    <>
      {review.verdict === "accepted" && <span class="badge good">✓ accepted</span>}
      {review.verdict === "rejected" && <span class="badge bad">✕ rejected</span>}
      {review.note && (
        <span class="badge plain" title={review.note}>
          note
        </span>
      )}
    </>
  );
}
