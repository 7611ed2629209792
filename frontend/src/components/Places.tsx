// The place whose evidence is shown: a selector, the way from exception to exception, and from violation to violation.
import { percent, whole } from "../format";
import type { Card } from "../types";
import { Stepper } from "./Stepper";

/** What evidence can be asked for: another place, or another moment there. */
export interface Aim {
  spot?: number;
  moment?: number;
}

export function PlaceChooser({ card, onAim }: { card: Card; onAim: (aim: Aim) => void }) {
  const { places, spot, violations } = card;
  const exceptions = places.filter((place) => place.exception);
  const round = <T,>(all: readonly T[], at: number, by: number): T | undefined => all[(at + by + all.length) % all.length];
  const at = exceptions.findIndex((place) => place.spot === spot);
  const shown = card.traces[0]?.times ?? [];
  const [from, to] = [shown[0] ?? 0, shown.at(-1) ?? 0];
  const here = violations.findIndex((moment) => moment >= from && moment <= to);
  const visible = violations.filter((moment) => moment >= from && moment <= to).length;
  const step = (by: 1 | -1): void => {
    const next = here < 0 ? violations[0] : round(violations, by > 0 ? here + visible - 1 : here, by);
    if (next !== undefined) onAim({ ...(spot === null ? {} : { spot }), moment: next });
  };
  if (places.length < 2 && violations.length === 0) return null;
  return (
    <div class="place-chooser no-print">
      {places.length > 1 && (
        <label class="small">
          <span class="sr-only">Place</span>
          <select class="input" value={spot ?? ""} onChange={(event) => onAim({ spot: Number(event.currentTarget.value) })}>
            {spot === null && <option value="">Choose a place</option>}
            {places.map((place) => (
              <option key={place.spot} value={place.spot}>
                {place.name}
                {place.exception ? ` – exception, ${percent(place.share)}` : ` – ${percent(place.share)}`}
              </option>
            ))}
          </select>
        </label>
      )}
      {exceptions.length > 0 && (
        <Stepper
          label="Exception"
          text={at < 0 ? `${whole(exceptions.length)} ${exceptions.length === 1 ? "exception" : "exceptions"}` : `exception ${at + 1} of ${exceptions.length}`}
          onStep={(by) => {
            const next = at < 0 ? exceptions[by > 0 ? 0 : exceptions.length - 1] : round(exceptions, at, by);
            if (next !== undefined) onAim({ spot: next.spot });
          }}
        />
      )}
      {violations.length > 0 && (
        <Stepper label="Violation" text={here < 0 ? `${whole(violations.length)} ${violations.length === 1 ? "violation" : "violations"} here` : `violation ${here + 1}${visible > 1 ? `–${here + visible}` : ""} of ${whole(violations.length)} here`} onStep={step} />
      )}
    </div>
  );
}
