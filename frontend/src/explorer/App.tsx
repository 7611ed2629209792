// The explorer: filters, the list and what is open, side by side; on a narrow screen one at a time.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { MeasuresContext } from "../components/rules";
import { ThemeToggle } from "../components/ThemeToggle";
import { moment, plural, whole } from "../format";
import type { Alert, Card, Comparison, Drawing, FindingsPage, Hit, NodeDetail, Outline, Review, RunEntry, Runs } from "../types";
import { problemOf, useAnswer } from "./answers";
import type { Answer } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";
import { useThemeName } from "./colours";
import { CompareChooser, CompareList } from "./Compare";
import type { Part } from "./Compare";
import { ControlDetails, LawDetails, RuleDetails } from "./Details";
import { Asset } from "./Asset";
import { Evidence } from "./Evidence";
import { idOf } from "./FindingItem";
import type { FindingRow } from "./FindingItem";
import { Findings, perPage } from "./Findings";
import { Filters } from "./Filters";
import type { Standing } from "./canvas";
import { GraphView } from "./GraphView";
import { ExportDialog, KeysDialog } from "./Help";
import { useKeys } from "./keyboard";
import { AlertDetail, AlertList, Monitors, useAlerts } from "./Live";
import { emptyQuery, narrowings, usePlace } from "./location";
import type { Pane, Query, Subject, Tab, View } from "./location";
import { NodePanel } from "./NodePanel";
import { Overview } from "./Overview";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { sentence } from "./words";
import { ReviewBar } from "./ReviewBar";
import { useReviews } from "./reviews";
import { Stepper } from "../components/Stepper";
import { Tabs } from "./Tabs";

type Open = "keys" | "export" | null;

const tabNames: readonly (readonly [Tab, string])[] = [
  ["evidence", "Evidence"],
  ["map", "Map"],
  ["details", "Details"],
];

/** The runs that are open; asked for again while the readings of one are still being read. */
function useRuns(): { runs: Runs | null; problem: ProblemError | null; refresh: (quiet?: boolean) => Promise<void> } {
  const [runs, setRuns] = useState<Runs | null>(null);
  const [problem, setProblem] = useState<ProblemError | null>(null);
  const refresh = useCallback(async (quiet = false): Promise<void> => {
    try {
      setRuns(await api.runs());
      setProblem(null);
    } catch (error) {
      if (!quiet) setProblem(problemOf(error));
    }
  }, []);
  useEffect(() => {
    void refresh();
  }, []);
  useEffect(() => {
    if (runs === null || !runs.runs.some((run) => run.data === "loading")) return undefined;
    const timer = window.setTimeout(() => void refresh(), 700);
    return () => window.clearTimeout(timer);
  }, [runs]);
  return { runs, problem, refresh };
}

export function App(): JSX.Element {
  const { runs, problem, refresh } = useRuns();
  if (problem !== null)
    return (
      <main class="alone">
        <h1>Rule explorer</h1>
        <ProblemNote problem={problem} />
      </main>
    );
  if (runs === null)
    return (
      <main class="alone">
        <h1 class="sr-only">Rule explorer</h1>
        <Waiting>Opening the runs…</Waiting>
      </main>
    );
  if (runs.runs.length === 0)
    return (
      <main class="alone">
        <h1>Rule explorer</h1>
        <Nothing title="No run is open.">
          <p>Start the explorer with the folder of a run.</p>
        </Nothing>
      </main>
    );
  return (
    <MeasuresContext.Provider value={runs.measures}>
      <Explorer runs={runs} refresh={refresh} />
    </MeasuresContext.Provider>
  );
}

function Explorer({ runs, refresh }: { runs: Runs; refresh: (quiet?: boolean) => Promise<void> }): JSX.Element {
  const [place, go] = usePlace();
  const theme = useThemeName();
  const run = runs.runs.find((each) => each.id === place.run) ?? (runs.runs[0] as RunEntry);
  const { query, view } = place;
  const reviews = useReviews();
  const [open, setOpen] = useState<Open>(null);
  const [writing, setWriting] = useState(false);
  const [selected, setSelected] = useState<ReadonlyMap<string, FindingRow>>(new Map());
  const [part, setPart] = useState<Part>("gained");
  const [alert, setAlert] = useState<Alert | null>(null);
  const searchField = useRef<HTMLInputElement>(null);
  const listPane = useRef<HTMLElement>(null);
  // A rule that only the other run has is looked at there.
  const homeId = view === "live" ? (alert?.run ?? run.id) : place.other && place.against !== null ? place.against : run.id;
  const home = runs.runs.find((each) => each.id === homeId) ?? run;
  // What the evidence is of: in the live view, the rule of the alert.
  const subject = useMemo<Subject | null>(
    () => (view !== "live" ? place.subject : alert === null || alert.rule === null || alert.run === null ? null : { about: "rule", id: alert.rule }),
    [view, alert, place.subject?.about, place.subject?.id, place.subject?.spot, place.subject?.moment],
  );

  const outline = useAnswer<Outline>(() => api.outline(run.id), [run.id, run.data, reviews.version], { keep: true });
  const drawing = useAnswer<Drawing | null>(() => api.drawing(run.id), [run.id, run.data], { keep: true });
  const page = useAnswer<FindingsPage>(
    (signal) => api.findings(run.id, query, place.what, place.page * perPage, perPage, signal),
    [run.id, JSON.stringify(query), place.what, place.page, reviews.version, run.data],
    { pause: 60, keep: true },
  );
  const key = subject === null ? "" : `${subject.about} ${subject.id}`;
  const card = useAnswer<Card | null>(
    // Evidence opens at the place that was searched for, until another one is chosen.
    subject !== null && home.data === "ready" ? (signal) => api.card(home.id, subject, query.node, signal) : null,
    [home.id, key, subject?.spot, subject?.moment, query.node, home.data],
    { keep: true },
  );
  const node = useAnswer<NodeDetail>(
    place.node !== null && run.data === "ready" ? (signal) => api.node(run.id, place.node ?? "", signal) : null,
    [run.id, place.node, run.data],
  );
  const comparison = useAnswer<Comparison>(
    view === "compare" && place.against !== null && place.against !== run.id
      ? (signal) => api.compare(place.against ?? 0, run.id, signal)
      : null,
    [view, run.id, place.against, reviews.version],
    { keep: true },
  );
  const alerts = useAlerts(view === "live" ? (place.monitor ?? runs.monitors[0]?.id ?? null) : null);

  // What is open: from the list, from the comparison, or asked for by its number.
  const listed = useMemo<FindingRow | null>(() => {
    if (view === "live" || subject === null) return null;
    const compared = comparison.value;
    if (view === "compare" && compared !== null) {
      const rows = place.other ? compared.lost : [...compared.gained, ...compared.changed.map((change) => change.other)];
      return rows.find((rule) => subject.about === "rule" && rule.id === subject.id) ?? null;
    }
    return page.value?.findings.find((row) => row.kind === subject.about && row.id === subject.id) ?? null;
  }, [key, page.value, comparison.value, view, place.other]);
  const asked = useAnswer<FindingRow>(
    view !== "live" && subject !== null && listed === null && !page.waiting ? (signal) => api.finding(home.id, subject, signal) : null,
    [home.id, key, view, listed === null, page.waiting, reviews.version],
    { keep: true },
  );
  const answered = asked.value !== null && asked.value.kind === subject?.about && asked.value.members.includes(subject.id) ? asked.value : null;
  const opened = listed ?? answered;
  const shownCard = card.value?.about === subject?.about && (opened?.members ?? [subject?.id]).includes(card.value?.id ?? -1) ? card.value : null;
  const standings = useMemo(() => standingsOf(shownCard), [shownCard]);
  const lit = useMemo<string[]>(() => {
    if (view === "live" && alert !== null && alert.where.length > 0) {
      // The place of a lifted rule is a chain of nodes: "Pipe 1 – Junction 2".
      const words = new Set(alert.where.flatMap((text) => [text, ...text.split(" – ")]));
      return (drawing.value?.nodes ?? []).filter((each) => words.has(each.id) || words.has(each.name) || each.sensors.some((sensor) => words.has(sensor))).map((each) => each.id);
    }
    return [...standings.keys()];
  }, [view, alert, standings, drawing.value]);
  const about = litText(view, alert, shownCard, lit);

  useEffect(() => {
    if (view !== "live") return undefined;
    const timer = window.setInterval(() => void refresh(true), 5000);
    return () => window.clearInterval(timer);
  }, [view]);
  useEffect(() => {
    document.title = `${run.name} · rule explorer`;
  }, [run.name]);
  useEffect(() => {
    setSelected(new Map());
  }, [run.id]);
  useEffect(() => setWriting(false), [key]);
  useEffect(() => {
    if (view === "compare" && place.against === null) {
      const other = runs.runs.find((each) => each.id !== run.id);
      if (other !== undefined) go({ against: other.id }, "replace");
    }
  }, [view, place.against, run.id]);

  // On a narrow screen the focus follows the part that is shown; otherwise it would stay on what is hidden.
  const shownPane = useRef(place.pane);
  useEffect(() => {
    if (shownPane.current !== place.pane && !wide() && !(document.activeElement instanceof HTMLInputElement))
      document.querySelector<HTMLElement>(`.pane-${place.pane}`)?.focus({ preventScroll: true });
    shownPane.current = place.pane;
  }, [place.pane]);
  const wide = (): boolean => window.matchMedia("(min-width: 800px)").matches;
  const openSubject = useCallback((next: Subject, other = false): void => {
    go({ subject: next, other, ...(wide() ? {} : { pane: "detail" as const }) });
  }, []);
  const openNode = useCallback((id: string | null): void => {
    go({ node: id, view: "rules", page: 0, query: { ...placeQuery.current, node: id }, ...(id === null ? {} : { subject: null }) });
  }, []);
  /** On the map, a place of the open statement shows its evidence there; any other node opens itself. */
  const openOnMap = (id: string | null): void => {
    const here = id === null ? [] : (shownCard?.places.filter((each) => each.nodes.includes(id)) ?? []);
    const spot = (here.find((each) => each.exception) ?? here[0])?.spot;
    if (spot === undefined || subject === null) openNode(id);
    else go({ subject: { about: subject.about, id: subject.id, spot }, tab: "evidence" });
  };
  /** Opens a place that was found, or the place of a sensor, with all that is known of it. */
  const openHit = ({ node: id }: Hit): void => {
    if (id !== "") go({ node: id, what: "", page: 0, query: { ...query, q: "", node: id }, subject: null, tab: place.tab === "details" ? "evidence" : place.tab, ...(wide() ? {} : { pane: "detail" as const }) });
  };
  const placeQuery = useRef(query);
  placeQuery.current = query;
  const changeQuery = (next: Query, how: "push" | "replace" = "push"): void => {
    go({ query: next, page: 0, ...(next.node === null && query.node !== null ? { node: null } : {}) }, how);
  };
  const select = (rows: readonly FindingRow[], chosen: boolean): void => {
    const next = new Map(selected);
    for (const row of rows) {
      if (chosen) next.set(idOf(row), row);
      else next.delete(idOf(row));
    }
    setSelected(next);
  };
  /** Opens the rule that an alert is about, if an open run has it. */
  const openRuleOf = ({ run: of, rule: id }: Alert): (() => void) | null =>
    of === null || id === null
      ? null
      : () => go({ run: of, view: "rules", what: "", query: of === run.id ? query : emptyQuery, page: 0, node: null, subject: { about: "rule", id }, other: false, ...(wide() ? {} : { pane: "detail" as const }) });
  const review = (change: Partial<Review>): void => {
    if (opened !== null && subject !== null) reviews.review(home.id, opened, subject.about, change);
  };

  // Steps through whatever list is shown; over the end of a page to the next one.
  const step = (by: 1 | -1): void => {
    if (view === "live") {
      const at = alerts.alerts.findIndex((each) => each.id === alert?.id);
      const next = alerts.alerts[at < 0 ? 0 : at + by];
      if (next !== undefined) setAlert(next);
      return;
    }
    if (view === "compare") {
      const compared = comparison.value;
      if (compared === null) return;
      const rows = part === "changed" ? compared.changed.map((change) => change.other) : compared[part];
      const at = rows.findIndex((each) => each.id === subject?.id && place.other === (part === "lost"));
      const next = rows[at < 0 ? 0 : at + by];
      if (next !== undefined) go({ subject: { about: "rule", id: next.id }, other: part === "lost" }, "replace");
      return;
    }
    const rows = page.value?.findings ?? [];
    const at = rows.findIndex((each) => each.kind === subject?.about && each.members.includes(subject.id));
    const next = rows[at < 0 ? 0 : at + by];
    if (next !== undefined) go({ subject: { about: next.kind, id: next.id }, other: false }, "replace");
    else if (page.value !== null) {
      const last = Math.ceil(page.value.total / perPage) - 1;
      const target = place.page + by;
      if (target >= 0 && target <= last) go({ page: target }, "replace");
    }
  };
  const tab = (name: Tab) => () => go({ tab: name });
  useKeys({
    "/": () => searchField.current?.select(),
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    a: () => opened && review({ verdict: opened.review?.verdict === "accepted" ? "" : "accepted" }),
    r: () => opened && review({ verdict: opened.review?.verdict === "rejected" ? "" : "rejected" }),
    n: () => opened && setWriting(true),
    u: () => reviews.undo(),
    x: () => opened && select([opened], !selected.has(idOf(opened))),
    "1": tab("evidence"),
    "2": tab("map"),
    "3": tab("details"),
    "?": () => setOpen("keys"),
    Escape: () => {
      if (writing) setWriting(false);
      else if (!wide() && place.pane !== "list") go({ pane: "list" });
      else if (view === "live") setAlert(null);
      else if (subject !== null) go({ subject: null });
      else if (place.node !== null) openNode(null);
    },
  });

  const map = drawing.value !== null && (
    <GraphView drawing={drawing.value} lit={lit} standings={standings} about={about} node={place.node} theme={theme} onNode={openOnMap}>
      {place.node !== null && subject === null && <NodePanel detail={node} onNode={openNode} onPage={tab("evidence")} onClose={() => openNode(null)} />}
    </GraphView>
  );
  return (
    <div class="explorer" data-pane={place.pane} data-view={view} data-state={run.data}>
      <header class="top">
        <a
          class="skip"
          href="#"
          onClick={(event) => {
            event.preventDefault();
            listPane.current?.focus();
          }}
        >
          To the list
        </a>
        <h1>
          <span class="brand">Thence</span>
          <span class="sr-only"> rule explorer</span>
        </h1>
        <label class="run-choice">
          <span class="sr-only">Run</span>
          <select
            class="input"
            value={run.id}
            onChange={(event) => go({ run: Number(event.currentTarget.value), subject: null, node: null, query: emptyQuery, page: 0, what: "", view: view === "live" ? "rules" : view, against: null })}
          >
            {runs.runs.map((each) => (
              <option key={each.id} value={each.id}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        <form class="search" role="search" aria-label="Findings, places and sensors" onSubmit={(event) => event.preventDefault()}>
          <input
            ref={searchField}
            class="input"
            type="search"
            name="q"
            value={query.q}
            placeholder="Search findings, places, sensors"
            aria-label="Search findings, places and sensors"
            aria-keyshortcuts="Control+K /"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => go({ view: "rules", pane: "list", query: { ...query, q: event.currentTarget.value }, page: 0 }, "replace")}
          />
          <kbd aria-hidden="true">Ctrl K</kbd>
        </form>
        <nav class="views" aria-label="Views">
          {(
            [
              ["rules", "Explore"],
              ["compare", "Compare"],
              ["live", "Live"],
            ] as const
          ).map(([name, title]) => (
            <button type="button" key={name} aria-current={view === name ? "page" : undefined} onClick={() => go({ view: name, subject: null, pane: "list", ...(name === "live" ? { tab: "map" as const } : {}) })}>
              {title}
              {name === "live" && runs.monitors.length > 0 && <span class="dot" aria-hidden="true" />}
            </button>
          ))}
        </nav>
        <div class="top-end">
          <button type="button" class="button" onClick={() => setOpen("export")}>
            Export
          </button>
          <button type="button" class="button plain" aria-label="Keys" title="Keys (?)" aria-keyshortcuts="?" onClick={() => setOpen("keys")}>
            ?
          </button>
          <ThemeToggle />
        </div>
      </header>
      <div class="panes">
        <aside class="pane pane-filters" tabIndex={-1} aria-label={view === "rules" ? "Filters" : view === "compare" ? "Comparison" : "Monitors"}>
          {view === "rules" && (
            <Filters query={query} facets={page.value?.facets ?? []} total={page.value?.total ?? 0} onChange={changeQuery} />
          )}
          {view === "compare" && (
            <CompareChooser runs={runs.runs} run={run.id} against={place.against} comparison={comparison} part={part} onAgainst={(id) => go({ against: id, subject: null })} onPart={(next) => { setPart(next); go({ pane: "list" }, "replace"); }} />
          )}
          {view === "live" && (
            <Monitors monitors={runs.monitors} monitor={place.monitor ?? runs.monitors[0]?.id ?? null} alerts={alerts} onMonitor={(id) => { setAlert(null); go({ monitor: id }); }} />
          )}
        </aside>
        <main class="pane pane-list" ref={listPane} tabIndex={-1} aria-label={view === "rules" ? "Findings" : view === "compare" ? "Differences" : "Alerts"}>
          {view === "rules" && (
              <Findings
                place={place}
                page={page}
                selected={selected}
                onSelect={select}
                onOpen={(row) => openSubject({ about: row.kind, id: row.id })}
                onHit={openHit}
                onWhat={(what) => go({ what, page: 0 })}
                onPage={(next) => {
                  go({ page: next });
                  listPane.current?.scrollTo(0, 0);
                }}
                onQuery={changeQuery}
              />
          )}
          {view === "compare" && (
            <CompareList
              comparison={comparison}
              part={part}
              chosen={place.against !== null}
              current={subject?.about === "rule" ? { id: subject.id, other: place.other } : null}
              onOpen={(each, other) => openSubject({ about: "rule", id: each.id }, other)}
            />
          )}
          {view === "live" && (
            <AlertList
              alerts={alerts}
              current={alert?.id ?? null}
              watched={runs.monitors.length > 0}
              onOpen={(each) => {
                setAlert(each);
                if (!wide()) go({ pane: "detail" });
              }}
            />
          )}
        </main>
        <section class="pane pane-detail" tabIndex={-1} aria-label="What is open">
          {view === "live" && alert !== null && (
            <header class="subject">
              <p class="kicker">
                Alert: {alert.kind}, {moment(alert.time)}
              </p>
              <h2>
                <bdi>{alert.title}</bdi>
              </h2>
              {alert.says && (
                <p>
                  <bdi>{sentence(alert.says)}</bdi>
                </p>
              )}
            </header>
          )}
          {view !== "live" && opened !== null && (
            <header class="subject">
              <p class="kicker">
                {opened.kind === "rule" ? "Rule" : opened.kind === "law" ? "Law" : "Control"}
                {home.id !== run.id && ` of ${home.name}`}
                <button type="button" class="button plain" aria-label="Close" title="Close (Esc)" onClick={() => go({ subject: null, pane: "list" })}>
                  ✕
                </button>
              </p>
              <h2>
                <bdi>{sentence(opened.sentence)}</bdi>
              </h2>
              {opened.kind === "rule" && (
                <p class="muted small">
                  In {whole(opened.n_both)} of {plural(opened.n_antecedent, "row")} in which the condition holds{opened.places && <bdi>; {opened.places}</bdi>}
                </p>
              )}
              {opened.members.length > 1 && opened.kind === "rule" && subject !== null && <Variants members={opened.members} id={subject.id} onOpen={(id) => openSubject({ about: "rule", id }, place.other)} />}
              {subject !== null && <ReviewBar of={opened} noun={subject.about} writing={writing} saved={home.saved} onWriting={setWriting} onReview={review} />}
            </header>
          )}
          <Tabs label="What is shown" id="detail" tabs={tabNames} current={place.tab} onChange={(name) => go({ tab: name })}>
            {place.tab === "evidence" && (
              <>
                {view === "live" && (alert === null ? <Nothing title="Choose an alert to see its evidence." /> : <AlertDetail alert={alert} onRule={openRuleOf(alert)} />)}
                {view !== "live" && subject === null && place.node === null && (
                  <>
                    {map}
                    <Overview
                      run={run.id}
                      query={query}
                      version={reviews.version}
                      onOpen={(id) => openSubject({ about: "rule", id })}
                      onBounds={(minSupport, minConfidence) => changeQuery({ ...query, minSupport, minConfidence })}
                    />
                  </>
                )}
                {view !== "live" && subject === null && place.node !== null && node.problem && <ProblemNote problem={node.problem} />}
                {view !== "live" && subject === null && node.value !== null && <Asset run={run} node={node.value} onOpen={openSubject} onNode={openNode} onMap={tab("map")} />}
                {view === "live" && subject !== null && <h2 class="part">The rule when it was mined</h2>}
                {subject !== null && (
                  <Evidence run={home} card={{ ...card, value: shownCard }} drawing={drawing.value} subject={subject} onAim={(aim) => go({ subject: { about: subject.about, id: subject.id, ...aim } })} />
                )}
              </>
            )}
            {place.tab === "map" && (
              <>
                {drawing.problem && <ProblemNote problem={drawing.problem} />}
                {(run.data === "loading" || (run.data === "ready" && drawing.waiting)) && drawing.value === null && <Waiting>The graph is being read…</Waiting>}
                {run.data === "missing" && drawing.value === null && (
                  <Nothing title="The graph behind this run is not available.">
                    <p>{run.why}</p>
                  </Nothing>
                )}
                {run.data === "ready" && drawing.value === null && !drawing.waiting && !drawing.problem && (
                  <Nothing title="This run has no graph.">
                    <p>Its rules are about the columns of a table.</p>
                  </Nothing>
                )}
                {map}
              </>
            )}
            {place.tab === "details" && (
              <>
                {view !== "live" && opened?.kind === "rule" && <RuleDetails rule={opened} />}
                {view !== "live" && opened?.kind === "law" && <LawDetails law={opened} />}
                {view !== "live" && opened?.kind === "control" && <ControlDetails control={opened} />}
                {view === "live" && alert !== null && <AlertDetail alert={alert} onRule={openRuleOf(alert)} />}
                {view !== "live" && opened === null && <RunDetails run={run} outline={outline} />}
              </>
            )}
          </Tabs>
        </section>
      </div>
      <nav class="bottom" aria-label="Parts of the page">
        {(
          [
            ["filters", view === "rules" ? `Filter${narrowings(query) > 0 ? ` (${narrowings(query)})` : ""}` : view === "compare" ? "Runs" : "Monitors"],
            ["list", view === "live" ? "Alerts" : "List"],
            ["detail", "Evidence"],
          ] as const satisfies readonly (readonly [Pane, string])[]
        ).map(([name, title]) => (
          <button type="button" key={name} aria-current={place.pane === name ? "true" : undefined} onClick={() => go({ pane: name })}>
            {title}
          </button>
        ))}
      </nav>
      <div class="toast" role="status" aria-live="polite" hidden={reviews.message === "" && reviews.problem === null}>
        {reviews.problem !== null ? (
          <ProblemNote problem={reviews.problem} />
        ) : (
          <>
            <span>{reviews.message}</span>
            {reviews.canUndo && (
              <button type="button" class="button" onClick={reviews.undo}>
                Undo <kbd aria-hidden="true">u</kbd>
              </button>
            )}
          </>
        )}
        <button type="button" class="button plain" aria-label="Close the message" onClick={reviews.close}>
          ✕
        </button>
      </div>
      {open === "keys" && <KeysDialog onClose={() => setOpen(null)} />}
      {open === "export" && <ExportDialog run={run.id} query={query} what={place.what} total={page.value?.total ?? 0} selected={[...selected.values()]} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** How a statement does at each node of its places: the worst of them, where a node belongs to several. */
function standingsOf(card: Card | null): ReadonlyMap<string, Standing> {
  const found = new Map<string, Standing>();
  if (card === null) return found;
  for (const { nodes, exception } of card.places) for (const id of nodes) if (exception || !found.has(id)) found.set(id, exception ? "exception" : "good");
  if (card.places.length === 0) for (const id of card.nodes) found.set(id, "good");
  return found;
}

function litText(view: View, alert: Alert | null, card: Card | null, lit: readonly string[]): string {
  if (lit.length === 0) return "";
  if (view === "live") return alert !== null && alert.where.length > 0 ? "Highlighted: where the alert is." : "Highlighted: the places of the rule of the alert.";
  if (card === null || card.places.length === 0) return "Highlighted: the place of the evidence.";
  const exceptions = card.places.filter((place) => place.exception).length;
  return `Highlighted: ${plural(card.n_places, "place")} where it applies${exceptions > 0 ? `, ${plural(exceptions, "exception")} among them` : ""}. Elsewhere it does not apply.`;
}

/** The rules of one finding: which of them is open, and the way to the others. */
function Variants({ members, id, onOpen }: { members: readonly number[]; id: number; onOpen: (id: number) => void }): JSX.Element {
  const at = Math.max(members.indexOf(id), 0);
  return <Stepper label="Variant" text={`Variant ${at + 1} of ${members.length}`} onStep={(by) => onOpen(members[(at + by + members.length) % members.length] ?? id)} />;
}

function RunDetails({ run, outline }: { run: RunEntry; outline: Answer<Outline> }): JSX.Element {
  if (outline.problem) return <ProblemNote problem={outline.problem} />;
  if (outline.value === null) return <Waiting />;
  const { mining, notes } = outline.value;
  return (
    <div class="details">
      <section>
        <h2>How “{run.name}” was mined</h2>
        <dl class="facts">
          {[["Enrichment", mining.enrichment], ["Windows", mining.windows], ["Bins", mining.bins], ["Miner", mining.miner], ...mining.settings].map(([name = "", value = ""]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </section>
      {[...mining.notes, ...notes].length > 0 && (
        <ul class="texts">
          {[...mining.notes, ...notes].map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
