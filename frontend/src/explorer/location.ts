// Where the reader is: the run, what is asked for and what is open, kept in the address so that links and "back" work.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { Facet } from "../types";

export type FacetName = Facet["name"];
export type View = "rules" | "compare" | "live";
/** What the list holds; an empty string for findings of all kinds. */
export type What = "" | "control" | "law" | "rule" | "place" | "sensor";
export type Tab = "evidence" | "map" | "details";
/** The part that a narrow screen shows. */
export type Pane = "filters" | "list" | "detail";

export const facetNames: readonly FacetName[] = ["kind", "conclusion", "class", "property", "pattern", "review"];

export interface Subject {
  about: "rule" | "law" | "control";
  id: number;
  /** The place whose evidence is shown, by its number; the one that shows it best if there is none. */
  spot?: number;
  /** The moment that is shown. */
  moment?: number;
}

export interface Query {
  q: string;
  facets: Partial<Record<FacetName, string[]>>;
  node: string | null;
  minSupport: number | null;
  minConfidence: number | null;
  minLift: number | null;
  sort: string;
  descending: boolean;
}

export interface Place {
  run: number;
  view: View;
  what: What;
  query: Query;
  page: number;
  subject: Subject | null;
  node: string | null;
  tab: Tab;
  pane: Pane;
  against: number | null;
  /** Whether what is open is of the run that is compared with. */
  other: boolean;
  monitor: number | null;
}

export const emptyQuery: Query = {
  q: "",
  facets: {},
  node: null,
  minSupport: null,
  minConfidence: null,
  minLift: null,
  sort: "",
  descending: true,
};

export const start: Place = {
  run: 0,
  view: "rules",
  what: "",
  query: emptyQuery,
  page: 0,
  subject: null,
  node: null,
  tab: "evidence",
  pane: "list",
  against: null,
  other: false,
  monitor: null,
};

const whole = (text: string | null, digits = 9): number | null =>
  text !== null && /^\d+$/.test(text) && text.length <= digits ? Number(text) : null;

function share(text: string | null): number | null {
  const value = text === null || text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

function oneOf<T extends string>(text: string | null, choices: readonly T[], otherwise: T): T {
  return choices.find((choice) => choice === text) ?? otherwise;
}

/** The place that a hash names; what it does not name, or names wrongly, is where one starts. */
export function placeOf(hash: string): Place {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const facets: Query["facets"] = {};
  for (const name of facetNames) {
    const chosen = given.getAll(name);
    if (chosen.length > 0) facets[name] = chosen;
  }
  let subject: Subject | null = null;
  for (const about of ["rule", "law", "control"] as const) {
    const id = whole(given.get(about));
    const [spot, moment] = [whole(given.get("spot")), whole(given.get("moment"), 15)];
    if (id !== null) subject = { about, id, ...(spot === null ? {} : { spot }), ...(moment === null ? {} : { moment }) };
  }
  return {
    run: whole(given.get("run")) ?? 0,
    view: oneOf(given.get("view"), ["rules", "compare", "live"], "rules"),
    what: oneOf(given.get("list"), ["control", "law", "rule", "place", "sensor", ""], ""),
    query: {
      q: given.get("q") ?? "",
      facets,
      node: given.get("at"),
      minSupport: share(given.get("min_support")),
      minConfidence: share(given.get("min_confidence")),
      minLift: share(given.get("min_lift")),
      sort: given.get("sort") ?? "",
      descending: given.get("order") !== "up",
    },
    page: whole(given.get("page")) ?? 0,
    subject,
    node: given.get("node"),
    tab: oneOf(given.get("tab"), ["evidence", "map", "details"], "evidence"),
    pane: oneOf(given.get("pane"), ["filters", "list", "detail"], "list"),
    against: whole(given.get("against")),
    other: given.get("of") === "other",
    monitor: whole(given.get("monitor")),
  };
}

/** The hash of a place; only what differs from the start is written. */
export function hashOf(place: Place): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | number | null, otherwise: string | number | null = null): void => {
    if (value !== null && value !== otherwise && value !== "") parts.append(name, String(value));
  };
  put("run", place.run, 0);
  put("view", place.view, "rules");
  put("list", place.what);
  put("q", place.query.q);
  for (const name of facetNames) for (const choice of place.query.facets[name] ?? []) parts.append(name, choice);
  put("at", place.query.node);
  put("min_support", place.query.minSupport);
  put("min_confidence", place.query.minConfidence);
  put("min_lift", place.query.minLift);
  put("sort", place.query.sort);
  if (place.query.sort && !place.query.descending) parts.append("order", "up");
  put("page", place.page, 0);
  if (place.subject) {
    put(place.subject.about, place.subject.id);
    put("spot", place.subject.spot ?? null);
    put("moment", place.subject.moment ?? null);
  }
  put("node", place.node);
  put("tab", place.tab, "evidence");
  put("pane", place.pane, "list");
  put("against", place.against);
  if (place.other) parts.append("of", "other");
  put("monitor", place.monitor);
  const text = parts.toString();
  return text ? `#${text}` : "#";
}

/** How often a query narrows, apart from the text. */
export function narrowings(query: Query): number {
  const chosen = Object.values(query.facets).reduce((sum, choices) => sum + choices.length, 0);
  const bounds = [query.minSupport, query.minConfidence, query.minLift].filter((value) => value !== null).length;
  return chosen + bounds + (query.node === null ? 0 : 1);
}

export type Go = (change: Partial<Place>, how?: "push" | "replace") => void;

/** The place of the reader, and how to go elsewhere; "replace" adds no step to the history. */
export function usePlace(): [Place, Go] {
  const [place, setPlace] = useState(() => placeOf(window.location.hash));
  useEffect(() => {
    const follow = (): void => setPlace(placeOf(window.location.hash));
    window.addEventListener("popstate", follow);
    window.addEventListener("hashchange", follow);
    return () => {
      window.removeEventListener("popstate", follow);
      window.removeEventListener("hashchange", follow);
    };
  }, []);
  const go = useCallback<Go>((change, how = "push") => {
    const next = { ...placeOf(window.location.hash), ...change };
    const hash = hashOf(next);
    if (hash !== (window.location.hash || "#")) {
      if (how === "push") window.history.pushState(null, "", hash);
      else window.history.replaceState(null, "", hash);
    }
    setPlace(next);
  }, []);
  return [place, go];
}
