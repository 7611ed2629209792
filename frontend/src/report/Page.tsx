// The page of a run.
import { useCallback, useMemo, useState } from "preact/hooks";
import { MeasuresContext, NO_FILTER, type Filter } from "../components/rules";
import { ThemeToggle } from "../components/ThemeToggle";
import { moment, plural } from "../format";
import { usePrinting } from "../hooks";
import type { Report } from "../types";
import { Facts, recordedText } from "./Facts";
import { Findings } from "./Findings";
import { MapPart } from "./Inputs";
import { Known } from "./Known";
import { Method } from "./Mining";
import { LitContext, SharedContext } from "./parts";
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
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const change = useCallback((part: Partial<Filter>) => setFilter((now) => ({ ...now, ...part })), []);
  const links: [string, string][] = [
    ["facts", "First page"],
    ...report.detected.map((_, at): [string, string] => [`detected-${at}`, "Alarms"]),
    ...report.applied.map((_, at): [string, string] => [`applied-${at}`, "On other data"]),
    ["findings", "Findings"],
    ...(report.known.length > 0 ? ([["known", "Known rules"]] as [string, string][]) : []),
    ["method", "Method"],
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
        <p class="over">{report.headline ? report.title : "What was learned"}</p>
        <h1 dir="auto">{report.headline || report.title}</h1>
        {report.system && <p class="recorded">{recordedText(report.system)}</p>}
        <p class="recorded muted">{foundText(report)}</p>
      </header>
      <main class="page">
        <div class="front">
          <Facts />
          <MapPart />
        </div>
        {report.detected.map((detected, at) => (
          <DetectedSection key={at} detected={detected} at={at} />
        ))}
        {report.applied.map((applied, at) => (
          <AppliedSection key={at} applied={applied} at={at} />
        ))}
        <Findings filter={filter} change={change} />
        <Known />
        <Method filter={filter} change={change} />
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

/** What was found, one count for each kind: variants of a finding are no findings of their own. */
function foundText({ controls, laws, rules, rules_left_out: more }: Report): string {
  const heads = rules.filter((rule) => rule.shown_with === null).length;
  const parts = [
    [controls.length, "control"],
    [laws.length, "law"],
    [heads, "rule"],
  ] as const;
  const named = parts.filter(([count]) => count > 0).map(([count, name]) => plural(count, name));
  const total = controls.length + laws.length + heads;
  const further = more > 0 ? ` ${plural(more, "further rule")} ${more === 1 ? "is" : "are"} not on this page.` : "";
  return total === 0 ? "Nothing was found." : `${plural(total, "finding")}: ${named.join(", ")}.${further}`;
}
