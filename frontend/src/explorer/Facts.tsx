// The laws and the controls of a run as lists.
import type { JSX } from "preact";
import { ReviewBadge } from "../components/ReviewBadge";
import { plural, whole } from "../format";
import type { ControlRow, LawRow } from "../types";
import { List } from "./List";
import { Nothing } from "./notes";
import type { Reviewable } from "./reviews";
import { sentence } from "./words";
import { ShareBar } from "./RuleItem";

const rejected = ({ review }: Reviewable): string => (review?.verdict === "rejected" ? "rejected" : "");

interface LawsProps {
  laws: readonly LawRow[];
  current: number | null;
  onOpen: (id: number) => void;
}

export function Laws({ laws, current, onOpen }: LawsProps): JSX.Element {
  if (laws.length === 0)
    return (
      <Nothing title="This run has no laws.">
        <p>Laws need a graph with several places of one class. Mine with --laws to search for them.</p>
      </Nothing>
    );
  return (
    <List label="Laws" items={laws} keyOf={(law) => law.id} current={laws.findIndex((law) => law.id === current)} onOpen={(law) => onOpen(law.id)} classOf={rejected}>
      {(law) => (
        <>
          <span class="sentence">
            <bdi>{sentence(law.statement)}</bdi>
          </span>
          <span class="measures">
            <ShareBar share={law.share} name="held in" />
            <span>
              at <span class="num">{whole(law.places_held)}</span> of {plural(law.places, "place")}
            </span>
            {law.exceptions.length > 0 && <span class="badge bad">{plural(law.exceptions.length, "exception")}</span>}
            <ReviewBadge review={law.review} />
          </span>
        </>
      )}
    </List>
  );
}

interface ControlsProps {
  controls: readonly ControlRow[];
  current: number | null;
  onOpen: (id: number) => void;
}

export function Controls({ controls, current, onOpen }: ControlsProps): JSX.Element {
  if (controls.length === 0)
    return (
      <Nothing title="This run has no controls.">
        <p>Controls need an actuator that switches. Mine with --controls to search for them.</p>
      </Nothing>
    );
  return (
    <List
      label="Controls"
      items={controls}
      keyOf={(control) => control.id}
      current={controls.findIndex((control) => control.id === current)}
      onOpen={(control) => onOpen(control.id)}
      classOf={rejected}
    >
      {(control) => (
        <>
          <span class="sentence">
            <bdi>{sentence(control.sentence)}</bdi>
          </span>
          <span class="measures">
            <span>
              <bdi>{control.sensor}</bdi> → <bdi>{control.actuator}</bdi>
            </span>
            <ReviewBadge review={control.review} />
          </span>
        </>
      )}
    </List>
  );
}
