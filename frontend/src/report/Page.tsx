// The page of a run.
import { useCallback, useMemo, useState } from "preact/hooks";
import { MeasuresContext } from "../components/rules";
import { ThemeToggle } from "../components/ThemeToggle";
import { every, moment, period, whole } from "../format";
import { usePrinting } from "../hooks";
import type { Report } from "../types";
import { Facts } from "./Facts";
import { Inputs } from "./Inputs";
import { MiningPart } from "./Mining";
import { LitContext, SharedContext } from "./parts";
import { Rules } from "./Rules";
import { Known, Statements } from "./Statements";
import { AppliedSection, DetectedSection } from "./Work";

/** A set of nodes and a function that replaces it. */
function useNodes(): [ReadonlySet<string>, (nodes: readonly string[]) => void] {
  const [nodes, setNodes] = useState<ReadonlySet<string>>(new Set());
  const replace = useCallback((next: readonly string[]) => setNodes((now) => (now.size === 0 && next.length === 0 ? now : new Set(next))), []);
  return [nodes, replace];
}

export function Page({ report }: { report: Report }) {
  const printing = usePrinting();
  const cards = useMemo(() => new Map(report.cards.map((card) => [card.key, card])), [report]);
  const [lit, light] = useNodes();
  const [hinted, hint] = useNodes();
  const shared = useMemo(() => ({ report, cards, printing, light, hint }), [report, cards, printing, light, hint]);
  const content = useMemo(() => <Content report={report} />, [report]);
  return (
    <SharedContext.Provider value={shared}>
      <MeasuresContext.Provider value={report.measures}>
        <LitContext.Provider value={hinted.size > 0 ? hinted : lit}>{content}</LitContext.Provider>
      </MeasuresContext.Provider>
    </SharedContext.Provider>
  );
}

function Content({ report }: { report: Report }) {
  const laws = report.laws.length > 0 ? (report.controls.length > 0 ? "Laws and controls" : "Laws") : "Controls";
  const links: [string, string][] = [
    ["facts", "Worth knowing"],
    ...report.detected.map((_, at): [string, string] => [`detected-${at}`, "Alarms"]),
    ...report.applied.map((_, at): [string, string] => [`applied-${at}`, "On other data"]),
    ["inputs", "What went in"],
    ...(report.known.length > 0 ? ([["known", "Known rules"]] as [string, string][]) : []),
    ...(report.laws.length + report.controls.length > 0 ? ([["laws", laws]] as [string, string][]) : []),
    ["rules", "Rules"],
    ["mining", "How it was mined"],
  ];
  return (
    <>
      <a class="skip" href="#facts">
        To the content
      </a>
      <nav class="bar-top no-print" aria-label="Sections">
        <div class="bar-inner">
          <span class="brand">{report.title}</span>
          <ul>
            {links.map(([id, text]) => (
              <li key={id}>
                <a href={`#${id}`}>{text}</a>
              </li>
            ))}
          </ul>
          <ThemeToggle />
        </div>
      </nav>
      <header class="page head">
        <p class="over">{report.system ? "What was learned from" : "What was learned"}</p>
        <h1 dir="auto">{report.title}</h1>
        <Figures report={report} />
      </header>
      <main class="page">
        <Facts />
        {report.detected.map((detected, at) => (
          <DetectedSection key={at} detected={detected} at={at} />
        ))}
        {report.applied.map((applied, at) => (
          <AppliedSection key={at} applied={applied} at={at} />
        ))}
        <Inputs />
        <Known />
        <Statements />
        <Rules />
        <MiningPart />
      </main>
      <footer class="page foot">
        <p class="muted small">
          {report.run && (
            <>
              Run <span dir="auto">{report.run}</span>.{" "}
            </>
          )}
          Made {moment(report.made)} UTC with Thence {report.version}. All times are UTC. Every figure is a count of rows of the data.
        </p>
      </footer>
    </>
  );
}

function Figures({ report }: { report: Report }) {
  const { system, mining } = report;
  const figures: [string, string, string][] = [];
  if (system) {
    if (system.start !== null && system.end !== null) figures.push(["Period", period(system.start, system.end), system.step_seconds === null ? "" : `a reading ${every(system.step_seconds)}`]);
    if (system.sites.length > 1) figures.push(["Sites", whole(system.sites.length), ""]);
    figures.push(["Sensors", whole(system.sensors), `${whole(system.readings)} readings`]);
    if (system.graph) figures.push(["Graph", whole(system.graph.nodes), `nodes, ${whole(system.graph.edges)} edges`]);
  }
  if (report.known.length > 0) figures.push(["Known rules", whole(report.known.length), ""]);
  if (report.laws.length > 0) figures.push(["Laws", whole(report.laws.length), ""]);
  if (report.controls.length > 0) figures.push(["Controls", whole(report.controls.length), ""]);
  figures.push(["Rules", whole(mining.rules), mining.rules_found > mining.rules ? `of ${whole(mining.rules_found)} found` : ""]);
  return (
    <dl class="figures">
      {figures.map(([name, value, more]) => (
        <div key={name} class={name === "Period" ? "wide" : ""}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            {more && <span class="muted small">{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
