// The explorer: filters, a list and what is open, side by side; on a narrow screen one at a time.
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { MeasuresContext } from "../components/rules";
import { ThemeToggle } from "../components/ThemeToggle";
import { moment, plural, whole } from "../format";
import type { Alert, Card, Comparison, Drawing, NodeDetail, Outline, Places, Review, RulePage, RuleRow, RunEntry, Runs } from "../types";
import { problemOf, useAnswer } from "./answers";
import type { Answer } from "./answers";
import { api } from "./api";
import type { ProblemError } from "./api";
import { useThemeName } from "./colours";
import { CompareChooser, CompareList } from "./Compare";
import type { Part } from "./Compare";
import { ControlDetails, LawDetails, RuleDetails } from "./Details";
import { Evidence, WorthKnowing } from "./Evidence";
import { Controls, Laws } from "./Facts";
import { Filters } from "./Filters";
import { GraphView } from "./GraphView";
import { ExportDialog, KeysDialog } from "./Help";
import { useKeys } from "./keyboard";
import { AlertDetail, AlertList, Monitors, useAlerts } from "./Live";
import { emptyQuery, narrowings, usePlace } from "./location";
import type { ListName, Pane, Query, Subject, Tab, View } from "./location";
import { NodePanel } from "./NodePanel";
import { Overview } from "./Overview";
import { Nothing, ProblemNote, Waiting } from "./notes";
import { sentence } from "./words";
import { ReviewBar } from "./ReviewBar";
import { useReviews } from "./reviews";
import type { Reviewable } from "./reviews";
import { perPage, Rules } from "./Rules";
import { Tabs } from "./Tabs";

type Open = "keys" | "export" | null;

const tabNames: readonly (readonly [Tab, string])[] = [
  ["evidence", "Evidence"],
  ["graph", "Graph"],
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
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
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
    [view, alert, place.subject?.about, place.subject?.id],
  );

  const outline = useAnswer<Outline>(() => api.outline(run.id), [run.id, run.data, reviews.version], { keep: true });
  const drawing = useAnswer<Drawing | null>(() => api.drawing(run.id), [run.id, run.data], { keep: true });
  const page = useAnswer<RulePage>(
    (signal) => api.rules(run.id, query, place.page * perPage, perPage, signal),
    [run.id, JSON.stringify(query), place.page, reviews.version, run.data],
    { pause: 60, keep: true },
  );
  const key = subject === null ? "" : `${subject.about} ${subject.id}`;
  const card = useAnswer<Card | null>(
    subject !== null && home.data === "ready" ? (signal) => api.card(home.id, subject, signal) : null,
    [home.id, key, home.data],
  );
  const places = useAnswer<Places>(
    subject?.about === "rule" && home.data === "ready" ? (signal) => api.places(home.id, subject.id, signal) : null,
    [home.id, key, home.data],
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

  // The rule that is open: from the list, from the comparison, or asked for by its number.
  const listed = useMemo<RuleRow | null>(() => {
    if (view === "live" || subject?.about !== "rule") return null;
    const compared = comparison.value;
    if (view === "compare" && compared !== null) {
      const rows = place.other ? compared.lost : [...compared.gained, ...compared.changed.map((change) => change.other)];
      return rows.find((rule) => rule.id === subject.id) ?? null;
    }
    return page.value?.rules.find((rule) => rule.id === subject.id) ?? null;
  }, [key, page.value, comparison.value, view, place.other]);
  const asked = useAnswer<RulePage>(
    view !== "live" && subject?.about === "rule" && listed === null && !page.waiting ? (signal) => api.rules(home.id, emptyQuery, subject.id, 1, signal) : null,
    [home.id, key, view, listed === null, page.waiting, reviews.version],
    { keep: true },
  );
  const rule = listed ?? (subject?.about === "rule" ? (asked.value?.rules.find((each) => each.id === subject.id) ?? null) : null);
  const law = subject?.about === "law" ? (outline.value?.laws.find((each) => each.id === subject.id) ?? null) : null;
  const control = subject?.about === "control" ? (outline.value?.controls.find((each) => each.id === subject.id) ?? null) : null;
  const opened: Reviewable | null = rule ?? law ?? control;

  const names = useMemo(() => new Map((drawing.value?.nodes ?? []).map((each) => [each.id, each.name])), [drawing.value]);
  const nameOf = (id: string): string => names.get(id) ?? id;
  const lit = useMemo<string[]>(() => {
    if (view === "live") {
      if (alert === null) return [];
      if (alert.where.length === 0) return places.value?.nodes ?? [];
      // The place of a lifted rule is a chain of nodes: "Pipe 1 – Junction 2".
      const words = new Set(alert.where.flatMap((text) => [text, ...text.split(" – ")]));
      return (drawing.value?.nodes ?? []).filter((each) => words.has(each.id) || words.has(each.name) || each.sensors.some((sensor) => words.has(sensor))).map((each) => each.id);
    }
    if (subject === null) return [];
    const own = card.value?.nodes ?? [];
    if (subject.about !== "rule" || places.value === null || places.value.nodes.length === 0) return own;
    return places.value.n_places > 1 ? places.value.nodes : [...new Set([...places.value.nodes, ...own])];
  }, [view, alert, key, places.value, card.value, drawing.value]);
  const about = litText(view, alert, subject, places, lit);

  useEffect(() => {
    if (view !== "live") return undefined;
    const timer = window.setInterval(() => void refresh(true), 5000);
    return () => window.clearInterval(timer);
  }, [view]);
  useEffect(() => {
    document.title = `${run.name} · rule explorer`;
  }, [run.name]);
  useEffect(() => {
    setSelected(new Set());
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
    go({ node: id, view: "rules", list: "rules", page: 0, query: { ...placeQuery.current, node: id }, ...(id === null ? {} : { subject: null }) });
  }, []);
  const placeQuery = useRef(query);
  placeQuery.current = query;
  const changeQuery = (next: Query, how: "push" | "replace" = "push"): void => {
    go({ query: next, page: 0, list: "rules", ...(next.node === null && query.node !== null ? { node: null } : {}) }, how);
  };
  const choose = (id: number, chosen: boolean): void => {
    const next = new Set(selected);
    if (chosen) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  /** Opens the rule that an alert is about, if an open run has it. */
  const openRuleOf = ({ run: of, rule: id }: Alert): (() => void) | null =>
    of === null || id === null
      ? null
      : () => go({ run: of, view: "rules", list: "rules", query: of === run.id ? query : emptyQuery, page: 0, node: null, subject: { about: "rule", id }, other: false, ...(wide() ? {} : { pane: "detail" as const }) });
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
    const aboutWhat = ({ rules: "rule", laws: "law", controls: "control" } as const)[place.list];
    const rows: readonly { id: number }[] = (place.list === "rules" ? page.value?.rules : outline.value?.[place.list]) ?? [];
    const at = subject?.about === aboutWhat ? rows.findIndex((each) => each.id === subject.id) : -1;
    const next = rows[at < 0 ? 0 : at + by];
    if (next !== undefined) go({ subject: { about: aboutWhat, id: next.id }, other: false }, "replace");
    else if (place.list === "rules" && page.value !== null) {
      const last = Math.ceil(page.value.total / perPage) - 1;
      const target = place.page + by;
      if (target >= 0 && target <= last) go({ page: target }, "replace");
    }
  };
  const tab = (name: Tab) => () => go({ tab: name });
  useKeys({
    "/": () => {
      go({ view: "rules", pane: wide() ? place.pane : "filters" }, "replace");
      // On a narrow screen, or in another view, the field has yet to appear.
      if (searchField.current?.offsetParent) searchField.current.focus();
      else window.setTimeout(() => searchField.current?.focus(), 50);
    },
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    a: () => opened && review({ verdict: opened.review?.verdict === "accepted" ? "" : "accepted" }),
    r: () => opened && review({ verdict: opened.review?.verdict === "rejected" ? "" : "rejected" }),
    n: () => opened && setWriting(true),
    u: () => reviews.undo(),
    x: () => rule && choose(rule.id, !selected.has(rule.id)),
    "1": tab("evidence"),
    "2": tab("graph"),
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

  const counts: Record<ListName, number> = { rules: run.rules, laws: run.laws, controls: run.controls };
  const shownSensors = place.node === null ? [] : (node.value?.sensors ?? []);
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
            onChange={(event) => go({ run: Number(event.currentTarget.value), subject: null, node: null, query: emptyQuery, page: 0, list: "rules", view: view === "live" ? "rules" : view, against: null })}
          >
            {runs.runs.map((each) => (
              <option key={each.id} value={each.id}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
        <nav class="views" aria-label="Views">
          {(
            [
              ["rules", "Explore"],
              ["compare", "Compare"],
              ["live", "Live"],
            ] as const
          ).map(([name, title]) => (
            <button type="button" key={name} aria-current={view === name ? "page" : undefined} onClick={() => go({ view: name, subject: null, pane: "list", ...(name === "live" ? { tab: "graph" as const } : {}) })}>
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
            <Filters query={query} facets={page.value?.facets ?? []} total={page.value?.total ?? 0} nodeName={query.node === null ? null : nameOf(query.node)} searchRef={searchField} onChange={changeQuery} />
          )}
          {view === "compare" && (
            <CompareChooser runs={runs.runs} run={run.id} against={place.against} comparison={comparison} part={part} onAgainst={(id) => go({ against: id, subject: null })} onPart={(next) => { setPart(next); go({ pane: "list" }, "replace"); }} />
          )}
          {view === "live" && (
            <Monitors monitors={runs.monitors} monitor={place.monitor ?? runs.monitors[0]?.id ?? null} alerts={alerts} onMonitor={(id) => { setAlert(null); go({ monitor: id }); }} />
          )}
        </aside>
        <main class="pane pane-list" ref={listPane} tabIndex={-1} aria-label={view === "rules" ? "Rules, laws and controls" : view === "compare" ? "Differences" : "Alerts"}>
          {view === "rules" && (
            <>
              <div class="list-names" role="group" aria-label="What is listed">
                {(["rules", "laws", "controls"] as const).map((name) => (
                  <button type="button" key={name} aria-pressed={place.list === name} onClick={() => go({ list: name, subject: null })}>
                    {name[0]?.toUpperCase()}
                    {name.slice(1)} <span class="num muted">{whole(counts[name])}</span>
                  </button>
                ))}
              </div>
              {place.list === "rules" && query.q !== "" && page.value !== null && page.value.controls.length > 0 && (
                <Controls controls={page.value.controls} current={subject?.about === "control" ? subject.id : null} onOpen={(id) => openSubject({ about: "control", id })} />
              )}
              {place.list === "rules" && query.q !== "" && page.value !== null && page.value.laws.length > 0 && (
                <Laws laws={page.value.laws} current={subject?.about === "law" ? subject.id : null} onOpen={(id) => openSubject({ about: "law", id })} />
              )}
              {place.list === "rules" && (
                <Rules
                  place={place}
                  page={page}
                  selected={selected}
                  onSelect={choose}
                  onSelectPage={(chosen) => {
                    const next = new Set(selected);
                    for (const each of page.value?.rules ?? []) {
                      if (chosen) next.add(each.id);
                      else next.delete(each.id);
                    }
                    setSelected(next);
                  }}
                  onOpen={(id) => openSubject({ about: "rule", id })}
                  onPage={(next) => {
                    go({ page: next });
                    listPane.current?.scrollTo(0, 0);
                  }}
                  onQuery={changeQuery}
                />
              )}
              {place.list !== "rules" && outline.problem && <ProblemNote problem={outline.problem} />}
              {place.list !== "rules" && outline.value === null && outline.waiting && <Waiting />}
              {place.list === "laws" && outline.value !== null && (
                <Laws laws={outline.value.laws} current={subject?.about === "law" ? subject.id : null} onOpen={(id) => openSubject({ about: "law", id })} />
              )}
              {place.list === "controls" && outline.value !== null && (
                <Controls controls={outline.value.controls} current={subject?.about === "control" ? subject.id : null} onOpen={(id) => openSubject({ about: "control", id })} />
              )}
            </>
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
                {subject?.about === "rule" ? "Rule" : subject?.about === "law" ? "Law" : "Control"}
                {home.id !== run.id && ` of ${home.name}`}
                <button type="button" class="button plain" aria-label="Close" title="Close (Esc)" onClick={() => go({ subject: null, pane: "list" })}>
                  ✕
                </button>
              </p>
              <h2>
                <bdi>{sentence(law?.statement ?? (rule ?? control)?.sentence ?? "")}</bdi>
              </h2>
              {rule !== null && (
                <p class="muted small">
                  In {whole(rule.n_both)} of {plural(rule.n_antecedent, "row")} in which the condition holds{rule.places && <bdi>; {rule.places}</bdi>}
                </p>
              )}
              {opened !== null && subject !== null && <ReviewBar of={opened} noun={subject.about} writing={writing} saved={home.saved} onWriting={setWriting} onReview={review} />}
            </header>
          )}
          <Tabs label="What is shown" id="detail" tabs={tabNames} current={place.tab} onChange={(name) => go({ tab: name })}>
            {place.tab === "evidence" && (
              <>
                {view === "live" && (alert === null ? <Nothing title="Choose an alert to see its evidence." /> : <AlertDetail alert={alert} onRule={openRuleOf(alert)} />)}
                {view !== "live" && subject === null && place.node === null && (
                  <>
                    {outline.problem && <ProblemNote problem={outline.problem} />}
                    {outline.value === null && outline.waiting && <Waiting />}
                    {outline.value !== null && <WorthKnowing facts={outline.value.facts} onOpen={openSubject} />}
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
                {view === "live" && subject !== null && <h2 class="part">The rule when it was mined</h2>}
                {(subject !== null || (view !== "live" && node.value !== null)) && (
                  <Evidence run={home} card={card} drawing={drawing.value} sensors={shownSensors} nodeName={nameOf(place.node ?? "")} subject={subject} />
                )}
              </>
            )}
            {place.tab === "graph" && (
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
                {drawing.value !== null && (
                  <GraphView drawing={drawing.value} lit={lit} about={about} node={place.node} theme={theme} onNode={openNode}>
                    {place.node !== null && (
                      <NodePanel
                        detail={node}
                        nameOf={nameOf}
                        onNode={openNode}
                        onSeries={() => go({ tab: "evidence" })}
                        onLaw={(id) => go({ subject: { about: "law", id }, list: "laws", tab: "evidence" })}
                        onControl={(id) => go({ subject: { about: "control", id }, list: "controls", tab: "evidence" })}
                        onClose={() => openNode(null)}
                      />
                    )}
                  </GraphView>
                )}
              </>
            )}
            {place.tab === "details" && (
              <>
                {view !== "live" && rule !== null && <RuleDetails rule={rule} onRule={(id) => openSubject({ about: "rule", id }, place.other)} />}
                {law !== null && <LawDetails law={law} />}
                {control !== null && <ControlDetails control={control} />}
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
      {open === "export" && <ExportDialog run={run.id} query={query} total={page.value?.total ?? run.rules} selected={selected} onClose={() => setOpen(null)} />}
    </div>
  );
}

function litText(view: View, alert: Alert | null, subject: Subject | null, places: Answer<Places>, lit: readonly string[]): string {
  if (view === "live") return alert === null || lit.length === 0 ? "" : alert.where.length > 0 ? "Lit: where the alert is." : "Lit: the places of the rule of the alert.";
  if (subject === null) return "";
  if (subject.about !== "rule") return lit.length > 0 ? `Lit: the place of the evidence.` : "";
  if (places.value === null) return "";
  if (places.value.nodes.length === 0) return places.value.why;
  return places.value.n_places > 0 ? `Lit: ${plural(places.value.n_places, "place")} where the rule applies.` : "Lit: the nodes that the rule names.";
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
