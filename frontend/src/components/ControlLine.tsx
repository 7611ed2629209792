// A control as short as a label: what switches, when, and where that is measured.
import type { ControlRow } from "../types";

/** What a control does, as short as a label: "starts below 5.21 m · stops above 5.82 m in Tank 1". */
export function ControlLine({ control }: { control: ControlRow }) {
  return (
    <>
      {control.name && (
        <>
          <b>
            <bdi>{control.name}</bdi>
          </b>
          {" · "}
        </>
      )}
      <bdi>{[control.events.join(" · "), control.where].filter(Boolean).join(" ")}</bdi>
    </>
  );
}
