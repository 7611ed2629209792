// A node of the graph: what it is, its sensors and neighbours, and what is known of it.
import type { JSX } from "preact";
import { plural } from "../format";
import type { NodeDetail } from "../types";
import type { Answer } from "./answers";
import { ProblemNote, Waiting } from "./notes";
import { sentence } from "./words";

interface Props {
  detail: Answer<NodeDetail>;
  nameOf: (id: string) => string;
  onNode: (id: string) => void;
  onSeries: () => void;
  onLaw: (id: number) => void;
  onControl: (id: number) => void;
  onClose: () => void;
}

const most = 12;

export function NodePanel({ detail, nameOf, onNode, onSeries, onLaw, onControl, onClose }: Props): JSX.Element {
  const node = detail.value;
  if (detail.problem) return <ProblemNote problem={detail.problem} />;
  if (node === null) return <Waiting />;
  return (
    <section class="node-panel" aria-label={`Node ${nameOf(node.id)}`}>
      <header>
        <h2>
          <bdi>{nameOf(node.id)}</bdi>
        </h2>
        <p class="muted small">{node.classes.join(", ")}</p>
        <button type="button" class="button plain" aria-label="Close the node" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      <p>
        {node.rules === 0 ? "No rule speaks of it." : `${plural(node.rules, "rule")} ${node.rules === 1 ? "speaks" : "speak"} of it; the list shows ${node.rules === 1 ? "it" : "them"}.`}
      </p>
      {node.sensors.length > 0 && (
        <p>
          {plural(node.sensors.length, "sensor")}: <bdi>{node.sensors.slice(0, most).join(", ")}</bdi>
          {node.sensors.length > most && ` and ${node.sensors.length - most} more`}.{" "}
          <button type="button" class="link" onClick={onSeries}>
            Show the series
          </button>
        </p>
      )}
      {node.properties.length > 0 && (
        <dl class="facts">
          {node.properties.map(([name = "", value = ""]) => (
            <div key={name}>
              <dt>
                <bdi>{name}</bdi>
              </dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {node.neighbours.length > 0 && (
        <p class="neighbours">
          <span class="muted">Next to it: </span>
          {node.neighbours.slice(0, most).map((id) => (
            <button type="button" class="chip" key={id} onClick={() => onNode(id)}>
              <bdi>{nameOf(id)}</bdi>
            </button>
          ))}
          {node.neighbours.length > most && <span class="muted"> and {node.neighbours.length - most} more</span>}
        </p>
      )}
      {node.laws.length + node.controls.length > 0 && (
        <ul class="texts">
          {node.laws.map((law) => (
            <li key={`law ${law.id}`}>
              <button type="button" class="link" onClick={() => onLaw(law.id)}>
                <bdi>{sentence(law.statement)}</bdi>
              </button>
            </li>
          ))}
          {node.controls.map((control) => (
            <li key={`control ${control.id}`}>
              <button type="button" class="link" onClick={() => onControl(control.id)}>
                <bdi>{sentence(control.sentence)}</bdi>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
