// A plain table, and "Data as a table" below a chart: the same numbers for those who do not see the picture.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { plural } from "../format";

export type Cell = string | number;

export function DataTable({ columns, rows, caption, numeric = [] }: { columns: string[]; rows: Cell[][]; caption: string; numeric?: number[] }) {
  const right = (index: number) => (numeric.includes(index) ? "num" : "");
  return (
    <table class="table">
      <caption class="sr-only">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={index} scope="col" class={right(index)}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, at) =>
              at === 0 ? (
                <th key={at} scope="row" class={right(at)}>
                  {cell}
                </th>
              ) : (
                <td key={at} class={right(at)}>
                  {cell}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Rows are made only when the table is opened, and at most `most` of them are shown. */
export function DataAsTable({ columns, rows, caption, numeric, most = 400 }: { columns: string[]; rows: () => Cell[][]; caption: string; numeric?: number[]; most?: number }) {
  const [open, setOpen] = useState(false);
  let body: ComponentChildren = null;
  if (open) {
    const all = rows();
    body = (
      <>
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
          <DataTable columns={columns} rows={all.slice(0, most)} caption={caption} {...(numeric ? { numeric } : {})} />
        </div>
        {all.length > most && <p class="muted small">The first {plural(most, "row")} of {plural(all.length, "row")}.</p>}
      </>
    );
  }
  return (
    <details class="fold data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Data as a table</summary>
      {body}
    </details>
  );
}
