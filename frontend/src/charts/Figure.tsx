// The frame of every chart: caption, picture with a text summary, the data as a table, and the chart as a file.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { DataAsTable, type Cell } from "../components/DataTable";
import { savePng } from "./png";

export interface Data {
  columns: string[];
  rows: () => Cell[][];
  numeric?: number[];
}

export function Figure({ title, note, data, children, level = 3, cls = "" }: { title?: string; note?: ComponentChildren; data?: Data; children: ComponentChildren; level?: 3 | 4; cls?: string }) {
  const Heading = level === 3 ? "h3" : "h4";
  const frame = useRef<HTMLElement>(null);
  const save = (): void => {
    const chart = frame.current?.querySelector<SVGSVGElement>(".plot svg");
    if (chart) void savePng(chart, title ?? chart.getAttribute("aria-label") ?? "chart");
  };
  return (
    <figure class={`figure ${cls}`} ref={frame}>
      {(title || note) && (
        <figcaption>
          {title && <Heading>{title}</Heading>}
          {note && <p class="muted small">{note}</p>}
        </figcaption>
      )}
      {children}
      {(data || cls === "picture") && (
        <div class="figure-foot no-print">
          {data && <DataAsTable caption={title ?? "Data of the chart"} columns={data.columns} rows={data.rows} {...(data.numeric ? { numeric: data.numeric } : {})} />}
          <button type="button" class="link small png" onClick={save}>
            Save as PNG
          </button>
        </div>
      )}
    </figure>
  );
}
