// What lies over the map for the node that is open: what it is, its neighbours, and the way to its page.
import type { JSX } from "preact";
import { plural } from "../format";
import type { NodeDetail } from "../types";
import type { Answer } from "./answers";
import { ProblemNote, Waiting } from "./notes";

interface Props {
  detail: Answer<NodeDetail>;
  onNode: (id: string) => void;
  /** Opens the page of the node. */
  onPage: () => void;
  onClose: () => void;
}

const most = 12;

export function NodePanel({ detail, onNode, onPage, onClose }: Props): JSX.Element {
  const node = detail.value;
  if (detail.problem) return <ProblemNote problem={detail.problem} />;
  if (node === null) return <Waiting />;
  return (
    <section class="node-panel" aria-label={`Node ${node.id}`}>
      <header>
        <h2>
          <bdi>{node.id}</bdi>
        </h2>
        <p class="muted small">{node.classes.join(", ")}</p>
        <button type="button" class="button plain" aria-label="Close the node" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      <p>
        <button type="button" class="link" onClick={onPage}>
          Open its page
        </button>{" "}
        <span class="muted">
          {plural(node.findings, "finding")}, {plural(node.sensors.length, "sensor")}
          {node.sensors.length > 0 && <bdi>: {node.sensors.slice(0, most).join(", ")}</bdi>}
        </span>
      </p>
      <Neighbours node={node} onNode={onNode} />
    </section>
  );
}

/** The nodes next to one, each a way to it. */
export function Neighbours({ node, onNode }: { node: NodeDetail; onNode: (id: string) => void }): JSX.Element | null {
  if (node.neighbours.length === 0) return null;
  return (
    <p class="neighbours">
      <span class="muted">Next to it: </span>
      {node.neighbours.slice(0, most).map((id) => (
        <button type="button" class="chip" key={id} onClick={() => onNode(id)}>
          <bdi>{id}</bdi>
        </button>
      ))}
      {node.neighbours.length > most && <span class="muted"> and {node.neighbours.length - most} more</span>}
    </p>
  );
}
