// How a statement does at each place: bars of its share, exceptions named. A bar opens the evidence there.
import { useState } from "preact/hooks";
import { percent, plural, whole } from "../format";
import type { PlaceShare } from "../types";

interface Props {
  places: PlaceShare[];
  total: number;
  /** The place whose evidence is shown. */
  spot?: number | null;
  shown?: number;
  onHover?: (nodes: string[]) => void;
  onPlace?: (spot: number) => void;
  printing?: boolean;
}

export function PlaceBars({ places, total, spot = null, shown = 8, onHover, onPlace, printing = false }: Props) {
  const [all, setAll] = useState(false);
  if (places.length === 0) return null;
  const exceptions = places.filter((place) => place.exception).length;
  // Exceptions come first: a few more are listed for them, and fewer on paper.
  const rows = all && !printing ? places : places.slice(0, Math.max(printing ? 5 : shown, Math.min(12, exceptions)));
  return (
    <div class="places">
      <table class="table place-table">
        <caption class="sr-only">How often it held at each place</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="sr-only">Place</span>
            </th>
            <th scope="col">
              <span class="sr-only">Bar</span>
            </th>
            <th scope="col">
              <span class="sr-only">Share of the times in which it held, and the counts</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((place, at) => (
            <tr key={at} class={place.exception ? "exception" : ""} onPointerEnter={onHover && (() => onHover(place.nodes))} onPointerLeave={onHover && (() => onHover([]))}>
              <th scope="row" title={place.name}>
                {onPlace ? (
                  <button type="button" class="link place-name" aria-current={place.spot === spot ? "true" : undefined} onFocus={onHover && (() => onHover(place.nodes))} onClick={() => onPlace(place.spot)}>
                    {place.name}
                  </button>
                ) : (
                  <span class="place-name">{place.name}</span>
                )}
                {place.exception && <span class="badge bad">exception</span>}
              </th>
              <td class="place-bar">
                <svg width="100%" height="14" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
                  <rect x="0" y="4" width="100" height="6" fill="var(--line)" />
                  {place.share !== null && <rect x="0" y="4" width={place.share * 100} height="6" fill={place.exception ? "var(--violated)" : "var(--held)"} />}
                  {place.low !== null && <rect x={Math.max(0, place.low * 100 - 0.6)} y="1.5" width="1.2" height="11" fill="var(--ink)" />}
                </svg>
              </td>
              <td class="num">
                {percent(place.share)}
                <span class="muted small place-count">
                  {whole(place.held)} of {whole(place.rows)}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!printing && places.length > rows.length && (
        <button type="button" class="link small" onClick={() => setAll(true)}>
          Show {plural(places.length - rows.length, "more place")}
        </button>
      )}
      {total > (printing ? rows : places).length && <p class="muted small">{plural(total, "place")} in all; {whole((printing ? rows : places).length)} are listed.</p>}
    </div>
  );
}
