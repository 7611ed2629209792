// Small parts of the page: sections, and what is highlighted in the drawing.
import type { ComponentChildren } from "preact";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { EvidenceCard } from "../components/EvidenceCard";
import type { Card, Report } from "../types";

export interface Shared {
  report: Report;
  cards: Map<string, Card>;
  printing: boolean;
  /** Highlight nodes in the drawing of the graph until others are. */
  light: (nodes: readonly string[]) => void;
  /** Highlight nodes while something is pointed at; none brings back what was highlighted before. */
  hint: (nodes: readonly string[]) => void;
}

/** Nodes that are highlighted: a context of its own, so that pointing at a rule draws the graph again and nothing else. */
export const LitContext = createContext<ReadonlySet<string>>(new Set());

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error("outside of the page");
  return shared;
}

export function Section({ id, title, lead, children }: { id: string; title: string; lead?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}

/** The evidence card of a statement, with a way to its places in the drawing. */
export function Evidence({ of }: { of: string }) {
  const { cards, report, printing, light } = useShared();
  const card = cards.get(of);
  if (!card) return null;
  const drawn = report.drawing !== null && card.nodes.length > 0 && report.drawing.nodes.some((node) => card.nodes.includes(node.id));
  const show = () => {
    light([...card.nodes, ...card.places.flatMap((place) => place.nodes)]);
    document.getElementById("graph")?.scrollIntoView({ block: "start" });
  };
  return (
    <div class="evidence">
      <EvidenceCard
        card={card}
        drawing={report.drawing}
        printing={printing}
        action={
          drawn && (
            <button type="button" class="link small no-print" onClick={show}>
              Show {card.places.length > 1 ? "its places" : "this place"} on the map
            </button>
          )
        }
      />
    </div>
  );
}

/** What a statement about a node set highlights while it is pointed at. */
export function nodesOf(card: Card | undefined): string[] {
  return card ? [...card.nodes, ...card.places.flatMap((place) => place.nodes)] : [];
}
