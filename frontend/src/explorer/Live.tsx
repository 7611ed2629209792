// Monitors that are watched: their alerts as they come, the newest first.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { moment, plural, whole } from "../format";
import type { Alert, Monitor } from "../types";
import { problemOf } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";
import { List } from "./List";
import { Nothing, ProblemNote } from "./notes";
import { sentence } from "./words";

const most = 500;

export interface Alerts {
  alerts: readonly Alert[];
  /** The last one that came while the page was open, for a screen reader. */
  news: string;
  connected: boolean;
  /** Alerts that came too, but are no longer shown. */
  older: number;
  problem: ProblemError | null;
}

const none: Alerts = { alerts: [], news: "", connected: false, older: 0, problem: null };

/** The alerts of a monitor: those it has, then each as it comes. */
export function useAlerts(monitor: number | null): Alerts {
  const [state, setState] = useState<Alerts>(none);
  const seen = useRef(new Set<number>());
  useEffect(() => {
    seen.current = new Set();
    setState(none);
    if (monitor === null) return undefined;
    let source: EventSource | null = null;
    let ended = false;
    const take = (alerts: readonly Alert[], news: boolean): void => {
      const fresh = alerts.filter((alert) => !seen.current.has(alert.id));
      for (const alert of fresh) seen.current.add(alert.id);
      if (fresh.length === 0) return;
      setState((last) => {
        const all = [...fresh, ...last.alerts].sort((a, b) => b.id - a.id);
        return {
          ...last,
          alerts: all.slice(0, most),
          older: last.older + Math.max(0, all.length - most),
          news: news ? (fresh.at(-1)?.title ?? "") : last.news,
        };
      });
    };
    api.alerts(monitor).then(
      (page) => {
        if (ended) return;
        take(page.alerts, false);
        setState((last) => ({ ...last, older: last.older + page.forgotten }));
        source = new EventSource(api.events(monitor, page.last));
        const connected = (yes: boolean) => () => setState((last) => ({ ...last, connected: yes }));
        source.addEventListener("open", connected(true));
        source.addEventListener("error", connected(false));
        const onEvent = (event: Event): void => {
          try {
            take([JSON.parse((event as MessageEvent<string>).data) as Alert], true);
          } catch {
            // Not an alert: a sign of life of the server.
          }
        };
        source.addEventListener("message", onEvent);
        source.addEventListener("alert", onEvent);
      },
      (error: unknown) => {
        if (!ended) setState((last) => ({ ...last, problem: problemOf(error) }));
      },
    );
    return () => {
      ended = true;
      source?.close();
    };
  }, [monitor]);
  return state;
}

interface ChooserProps {
  monitors: readonly Monitor[];
  monitor: number | null;
  alerts: Alerts;
  onMonitor: (id: number) => void;
}

/** The left side: the monitors and how they are. */
export function Monitors({ monitors, monitor, alerts, onMonitor }: ChooserProps): JSX.Element {
  if (monitors.length === 0)
    return (
      <Nothing title="No monitor is watched.">
        <p>
          Start a monitor with <code>thence monitor</code>, and the explorer with <code>--monitor</code> and the folder
          of its state.
        </p>
      </Nothing>
    );
  return (
    <ul class="monitors" aria-label="Monitors">
      {monitors.map((each) => (
        <li key={each.id}>
          <button type="button" class="item" aria-current={each.id === monitor ? "true" : undefined} onClick={() => onMonitor(each.id)}>
            <b>
              <bdi>{each.name}</bdi>
            </b>
            <span class="muted small">
              {plural(Math.max(each.alerts, each.id === monitor ? alerts.alerts.length : 0), "alert")}
              {each.last !== null && `, the last ${moment(each.last)}`}
            </span>
          </button>
          {each.id === monitor && (
            <>
              <p class={`small ${alerts.connected ? "live-on" : "muted"}`}>
                <span class="dot" aria-hidden="true" /> {alerts.connected ? "Watching" : "Connecting…"}
              </p>
              {Object.keys(each.health).length > 0 && (
                <dl class="facts">
                  {Object.entries(each.health).map(([name, value]) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>{value}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

interface ListProps {
  alerts: Alerts;
  current: number | null;
  watched: boolean;
  onOpen: (alert: Alert) => void;
}

/** The middle: the alerts. */
export function AlertList({ alerts, current, watched, onOpen }: ListProps): JSX.Element {
  return (
    <>
      <p class="sr-only" aria-live="polite">
        {alerts.news && `New alert: ${alerts.news}`}
      </p>
      {alerts.problem && <ProblemNote problem={alerts.problem} />}
      {watched && alerts.alerts.length === 0 && !alerts.problem && (
        <Nothing title="No alert so far.">
          <p>Alerts appear here as soon as the monitor raises them.</p>
        </Nothing>
      )}
      {alerts.alerts.length > 0 && (
        <>
          <div class="list-tools">
            <p class="count">
              <b>{plural(alerts.alerts.length, "alert")}</b>
              <span class="muted">, the newest first</span>
            </p>
          </div>
          <List<Alert>
            label="Alerts, the newest first"
            items={alerts.alerts}
            keyOf={(alert) => alert.id}
            current={alerts.alerts.findIndex((alert) => alert.id === current)}
            onOpen={onOpen}
          >
            {(alert) => (
              <>
                <span class="measures">
                  <time class="num">{moment(alert.time)}</time>
                  <span class={`badge ${alert.kind === "recovered" ? "good" : "bad"}`}>{alert.kind}</span>
                </span>
                <span class="sentence">
                  <b>
                    <bdi>{alert.title}</bdi>
                  </b>
                </span>
                {alert.says && (
                  <span class="sentence muted">
                    <bdi>{sentence(alert.says)}</bdi>
                  </span>
                )}
                {alert.where.length > 0 && !alert.where.every((place) => alert.title.includes(place)) && (
                  <span class="measures">
                    <span>
                      at <bdi>{alert.where.slice(0, 4).join(", ")}</bdi>
                      {alert.where.length > 4 && ` and ${whole(alert.where.length - 4)} more`}
                    </span>
                  </span>
                )}
              </>
            )}
          </List>
          {alerts.older > 0 && <p class="small muted pad">{plural(alerts.older, "older alert")} not shown; the file of the monitor has all.</p>}
        </>
      )}
    </>
  );
}

/** The evidence of an alert; the rule that it is about can be opened if an open run has it. */
export function AlertDetail({ alert, onRule }: { alert: Alert; onRule: (() => void) | null }): JSX.Element {
  return (
    <div class="details">
      {alert.evidence.length > 0 && (
        <ul class="texts">
          {alert.evidence.map((line) => (
            <li key={line}>
              <bdi>{line}</bdi>
            </li>
          ))}
        </ul>
      )}
      {onRule !== null && (
        <p>
          <button type="button" class="link" onClick={onRule}>
            Open the rule
          </button>
        </p>
      )}
      {alert.evidence.length === 0 && onRule === null && <p class="muted">The alert came without further evidence.</p>}
    </div>
  );
}
