// The frame of every chart: caption, picture with a text summary, and the data as a table.
import type { ComponentChildren } from "preact";
import { DataAsTable, type Cell } from "../components/DataTable";

export interface Data {
  columns: string[];
  rows: () => Cell[][];
  numeric?: number[];
}

export function Figure({ title, note, data, children, level = 3, cls = "" }: { title?: string; note?: ComponentChildren; data?: Data; children: ComponentChildren; level?: 3 | 4; cls?: string }) {
  const Heading = level === 3 ? "h3" : "h4";
  return (
    <figure class={`figure ${cls}`}>
      {(title || note) && (
        <figcaption>
          {title && <Heading>{title}</Heading>}
          {note && <p class="muted small">{note}</p>}
        </figcaption>
      )}
      {children}
      {data && <DataAsTable caption={title ?? "Data of the chart"} columns={data.columns} rows={data.rows} {...(data.numeric ? { numeric: data.numeric } : {})} />}
    </figure>
  );
}
