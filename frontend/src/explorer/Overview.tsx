// All rules of the present filter at a glance: support against confidence.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Scatter } from "../charts/Scatter";
import type { ScatterPoint } from "../charts/Scatter";
import { plural, whole } from "../format";
import type { Scatter as Sample } from "../types";
import { useAnswer } from "./answers";
import { api } from "./api";
import type { Query } from "./location";

const most = 1500;

interface Props {
  run: number;
  query: Query;
  version: number;
  onOpen: (id: number) => void;
  /** Narrows to rules with at least this support and confidence; null takes a bound away. */
  onBounds: (support: number | null, confidence: number | null) => void;
}

/** At most `most` points at even steps. */
export function pointsOf(sample: Sample): ScatterPoint[] {
  const step = Math.max(1, Math.ceil(sample.ids.length / most));
  return sample.ids.flatMap((id, at) =>
    at % step > 0
      ? []
      : [{ id, x: sample.support[at] ?? null, y: sample.confidence[at] ?? null, colour: sample.zhang[at] ?? null, title: `Rule ${id}` }],
  );
}

const down = (value: number): number => Math.max(0, Math.floor(value * 1000) / 1000);

export function Overview({ run, query, version, onOpen, onBounds }: Props): JSX.Element | null {
  const filter = JSON.stringify({ ...query, sort: "", descending: true });
  const { value } = useAnswer<Sample>((signal) => api.scatter(run, query, signal), [run, filter, version], { pause: 200, keep: true });
  const points = useMemo(() => (value === null ? [] : pointsOf(value)), [value]);
  if (value === null || value.total < 2) return null;
  return (
    <section class="overview figure">
      <h2>At a glance</h2>
      <p class="muted small">
        {points.length < value.total
          ? `${whole(points.length)} of the ${plural(value.total, "rule")} of the list, at even steps.`
          : `The ${plural(value.total, "rule")} of the list.`}{" "}
        A click opens a rule; drag over a region to keep the rules with at least its support and confidence.
      </p>
      <Scatter
        points={points}
        lit={null}
        chosen={null}
        region={null}
        onChoose={(id) => id !== null && onOpen(id)}
        onRegion={(region) => region !== null && onBounds(down(region.x[0]), down(region.y[0]))}
      />
    </section>
  );
}
