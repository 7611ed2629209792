// The page of a node: its readings, what holds there and where it does not, its alarms; an address that can be copied.
import type { JSX } from "preact";
import { moment, percent, plural, whole } from "../format";
import type { Here, NodeDetail, RunEntry } from "../types";
import { CopyText } from "../components/CopyText";
import { Neighbours } from "./NodePanel";
import type { Subject } from "./location";
import { SeriesView } from "./SeriesView";
import { sentence } from "./words";

const mostSeries = 8;

interface Props {
  run: RunEntry;
  node: NodeDetail;
  onOpen: (subject: Subject) => void;
  onNode: (id: string) => void;
  onMap: () => void;
}

export function Asset({ run, node, onOpen, onNode, onMap }: Props): JSX.Element {
  const exceptions = node.here.filter((one) => one.exception);
  const others = node.here.filter((one) => !one.exception);
  const own = node.sensors.length > 0;
  const sensors = own ? node.sensors : node.near;
  const shown = sensors.slice(0, mostSeries);
  return (
    <div class="asset evidence">
      <header>
        <h2>
          <bdi>{node.id}</bdi>
        </h2>
        <p class="muted small">
          {[node.classes.join(", "), plural(node.sensors.length, "sensor"), plural(node.findings, "finding")].filter(Boolean).join(" · ")}
        </p>
        <p class="buttons">
          <CopyText cls="button" text={() => window.location.href}>
            Copy link
          </CopyText>
          <button type="button" class="button" onClick={onMap}>
            On the map
          </button>
        </p>
      </header>
      {node.alerts.length > 0 && (
        <section>
          <h3>Alarms</h3>
          <ul class="texts">
            {node.alerts.map((alert) => (
              <li key={`${alert.monitor} ${alert.id}`}>
                <span class="muted num">{moment(alert.time)}</span> <bdi>{alert.title}</bdi>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Statements title="Exceptions here" items={exceptions} onOpen={onOpen} />
      <section class="series-section">
        <h3>{own || shown.length === 0 ? "Readings" : "Readings next to it"}</h3>
        {shown.length === 0 ? <p class="muted">There is no sensor here or next to it.</p> : <SeriesView key={node.id} run={run.id} sensors={shown} />}
        {sensors.length > shown.length && <p class="small muted">The first {whole(shown.length)} of {plural(sensors.length, "sensor")}.</p>}
      </section>
      <Statements title="What holds here" items={others} onOpen={onOpen} />
      {node.properties.length > 0 && (
        <section>
          <h3>Properties</h3>
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
        </section>
      )}
      <Neighbours node={node} onNode={onNode} />
    </div>
  );
}

function Statements({ title, items, onOpen }: { title: string; items: readonly Here[]; onOpen: (subject: Subject) => void }): JSX.Element | null {
  if (items.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul class="here">
        {items.map((one) => (
          <li key={`${one.kind} ${one.id}`}>
            <button type="button" class="fact" onClick={() => onOpen({ about: one.kind as Subject["about"], id: one.id })}>
              <span class="sentence">
                <bdi>{sentence(one.sentence)}</bdi>
              </span>
              <span class="small muted num">
                held in {whole(one.held)} of {whole(one.rows)} here ({percent(one.rows > 0 ? one.held / one.rows : null)})
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
