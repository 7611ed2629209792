// What the explorer asks its server. Every answer is one of the types of the schema, or a problem in words.
import type {
  AlertPage,
  Card,
  Comparison,
  Drawing,
  FindingsPage,
  NodeDetail,
  Outline,
  Problem,
  Reviewed,
  ReviewRequest,
  Runs,
  Scatter,
  SeriesPage,
} from "../types";
import type { FindingRow } from "./FindingItem";
import type { Query, Subject, What } from "./location";

/** A request that was not answered, with what to do about it. */
export class ProblemError extends Error {
  readonly hint: string;

  constructor(problem: Problem) {
    super(problem.error);
    this.hint = problem.hint;
  }
}

type Values = Record<string, string | number | boolean | null | readonly string[]>;

/** The address of an end point with its parameters; empty ones are left out. */
export function address(path: string, values: Values = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "" || value === false) continue;
    if (Array.isArray(value)) for (const each of value) parameters.append(name, each);
    else parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return `api/${path}${text ? `?${text}` : ""}`;
}

/** The parameters of a query; paging comes on top. */
export function parametersOf(query: Query): Values {
  return {
    q: query.q,
    ...query.facets,
    node: query.node,
    min_support: query.minSupport,
    min_confidence: query.minConfidence,
    min_lift: query.minLift,
    sort: query.sort,
    descending: query.sort ? String(query.descending) : null,
  };
}

async function answer<T>(url: string, options: RequestInit = {}): Promise<T> {
  return (await (await answered(url, options)).json()) as T;
}

async function answered(url: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ProblemError({
      error: "The explorer's server does not answer.",
      hint: "It may have been stopped. Start it again with 'thence explore' and open the address that it prints.",
    });
  }
  if (response.ok) return response;
  let problem: Problem = { error: `The server answered with status ${response.status}.`, hint: "" };
  try {
    const given = (await response.json()) as Partial<Problem>;
    if (typeof given.error === "string") problem = { error: given.error, hint: given.hint ?? "" };
  } catch {
    // The answer is not JSON: the status has to do.
  }
  throw new ProblemError(problem);
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return (await (await posted(path, body)).json()) as T;
}

function posted(path: string, body: unknown): Promise<Response> {
  return answered(address(path), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

const subjects = { rule: "rules", law: "laws", control: "controls" } as const;

export const api = {
  runs: (): Promise<Runs> => answer(address("runs")),
  outline: (run: number): Promise<Outline> => answer(address(`runs/${run}/outline`)),
  drawing: (run: number): Promise<Drawing | null> => answer(address(`runs/${run}/drawing`)),
  findings: (run: number, query: Query, what: What, offset: number, limit: number, signal: AbortSignal): Promise<FindingsPage> =>
    answer(address(`runs/${run}/findings`, { ...parametersOf(query), what, offset, limit }), { signal }),
  finding: (run: number, subject: Subject, signal: AbortSignal): Promise<FindingRow> =>
    answer(address(`runs/${run}/${subjects[subject.about]}/${subject.id}`), { signal }),
  card: (run: number, subject: Subject, node: string | null, signal: AbortSignal): Promise<Card | null> =>
    answer(
      address(`runs/${run}/${subjects[subject.about]}/${subject.id}/card`, { spot: subject.spot ?? null, moment: subject.moment ?? null, node }),
      { signal },
    ),
  node: (run: number, id: string, signal: AbortSignal): Promise<NodeDetail> =>
    answer(address(`runs/${run}/node`, { id }), { signal }),
  series: (
    run: number,
    sensor: readonly string[],
    period: { start: number; end: number } | null,
    points: number,
    signal: AbortSignal,
  ): Promise<SeriesPage> =>
    answer(
      address(`runs/${run}/series`, { sensor, start: period?.start ?? null, end: period?.end ?? null, points }),
      { signal },
    ),
  compare: (a: number, b: number, signal: AbortSignal): Promise<Comparison> =>
    answer(address("compare", { a, b }), { signal }),
  scatter: (run: number, query: Query, signal: AbortSignal): Promise<Scatter> =>
    answer(address(`runs/${run}/scatter`, { ...parametersOf(query), sort: null, descending: null }), { signal }),
  review: (run: number, review: ReviewRequest): Promise<Reviewed> => post(`runs/${run}/review`, review),
  alerts: (monitor: number): Promise<AlertPage> => answer(address(`monitors/${monitor}/alerts`)),
  events: (monitor: number, after: number): string => address(`monitors/${monitor}/events`, { after: String(after) }),
  /** A file with the findings of a query, or with the given ones if there are any, each with its variants. */
  exported: async (run: number, format: string, query: Query, what: What, rows: readonly FindingRow[]): Promise<{ data: Blob; name: string }> => {
    const of = (kind: FindingRow["kind"]): number[] => rows.filter((row) => row.kind === kind).flatMap((row) => row.members);
    const response =
      rows.length > 0
        ? await posted(`runs/${run}/export`, { format, rules: of("rule"), laws: of("law"), controls: of("control") })
        : await answered(address(`runs/${run}/export`, { format, what, ...parametersOf(query) }));
    const name = /filename="([\w.-]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "findings";
    return { data: await response.blob(), name };
  },
};
