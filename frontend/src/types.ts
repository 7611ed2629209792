// Made by frontend/make_types.py from the schemas of the report and the explorer; do not edit.

export interface IndexedTexts {
  kind: "rule" | "law" | "control" | "range" | "place" | "sensor";
  id: number;
  left: number[];
  right: number[];
  whole: number[];
}

export interface SearchIndex {
  texts: string[];
  statements: IndexedTexts[];
}

export interface Alarm {
  start: number;
  end: number;
  score: number;
  sentence: string;
  reasons: string[];
  located: ((string | number)[])[];
}

export interface Applied {
  name: string;
  start: number | null;
  end: number | null;
  verdicts: Count[];
  rules: AppliedRule[];
  edges: number[];
  held: (number | null)[];
  sentences: string[];
}

export interface AppliedRule {
  id: number;
  sentence: string;
  verdict: string;
  before: number | null;
  after: number | null;
  rows: number;
  violated: number;
}

export interface Band {
  side: "if" | "then";
  low: number | null;
  high: number | null;
  states: string[];
  text: string;
}

export interface Card {
  key: string;
  about: "law" | "control" | "rule";
  id: number;
  place: string;
  spot: number | null;
  violations: number[];
  why: string;
  traces: Trace[];
  held: Span[];
  violated: Span[];
  history: History | null;
  places: PlaceShare[];
  n_places: number;
  nodes: string[];
  edges: string[][];
  switches?: number[];
  columns?: Record<string, string>;
}

export interface ControlRow {
  kind: "control";
  id: number;
  members: number[];
  key: string;
  keys: string[];
  sentence: string;
  name: string;
  events: string[];
  where: string;
  switches: number;
  explained: number;
  kinds: string[];
  actuator: string;
  sensor: string;
  review: Review | null;
  card: string | null;
}

export interface Count {
  name: string;
  count: number;
}

export interface Coverage {
  edges: number[];
  share: (number | null)[];
  nodes: NodeShare[];
  places: Count[];
}

export interface Detected {
  name: string;
  times: number[];
  score: (number | null)[];
  threshold: number;
  alarms: Alarm[];
}

export interface Drawing {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  groups: Count[];
  aspect: number;
  placed_by: "coordinates" | "layout";
  left_out: number;
  why: string;
}

export interface DrawnEdge {
  source: number;
  target: number;
  relation: string;
}

export interface DrawnNode {
  id: string;
  x: number;
  y: number;
  name: string;
  group: string;
  classes: string[];
  sensors: string[];
  kinds: string[];
}

export interface Fact {
  kind: "law" | "control" | "rule";
  id: number;
  sentence: string;
  figures: string;
  review: Review | null;
  card: string | null;
}

export interface Gaps {
  by: "sensor" | "kind";
  edges: number[];
  rows: GapsRow[];
}

export interface GapsRow {
  name: string;
  present: (number | null)[];
}

export interface GraphSummary {
  nodes: number;
  edges: number;
  classes: Count[];
  relations: Count[];
}

export interface History {
  edges: number[];
  applied: number[];
  held: number[];
}

export interface Kind {
  kind: string;
  unit: string;
  sensors: number;
  readings: number;
  missing: number | null;
  low: number | null;
  median: number | null;
  high: number | null;
  states: string[];
}

export interface KnownRow {
  name: string;
  sentence: string;
  formal: string;
  confidence: number | null;
  n_antecedent: number;
  n_both: number;
}

export interface LawRow {
  kind: "law";
  id: number;
  members: number[];
  key: string;
  sentence: string;
  in_full: string;
  kinds: string[];
  rows: number;
  held: number;
  share: number | null;
  later_share: number | null;
  places: number;
  places_held: number;
  exceptions: string[];
  review: Review | null;
  card: string | null;
}

export interface Matrix {
  quantities: string[];
  cells: MatrixCell[];
}

export interface MatrixCell {
  source: number;
  target: number;
  rules: number;
  best: number;
  confidence: number | null;
}

export interface MeasureColumn {
  name: string;
  label: string;
  help: string;
  percent: boolean;
}

export interface Mining {
  enrichment: string;
  windows: string;
  bins: string;
  miner: string;
  settings: string[][];
  transactions: number | null;
  features: number | null;
  items: number | null;
  rules: number;
  rules_found: number;
  data_coverage: number | null;
  complete: boolean;
  stages: Stage[];
  notes: string[];
}

export interface NodeShare {
  node: number;
  share: number;
}

export interface PlaceShare {
  spot: number;
  name: string;
  rows: number;
  held: number;
  share: number | null;
  low: number | null;
  exception: boolean;
  nodes: string[];
}

export interface Report {
  format: number;
  title: string;
  headline: string;
  made: number;
  version: string;
  run: string;
  system: SystemPart | null;
  drawing: Drawing | null;
  mining: Mining;
  facts: Fact[];
  measures: MeasureColumn[];
  rules: RuleRow[];
  rules_left_out: number;
  known: KnownRow[];
  laws: LawRow[];
  controls: ControlRow[];
  search: SearchIndex;
  matrix: Matrix;
  coverage: Coverage | null;
  cards: Card[];
  applied: Applied[];
  detected: Detected[];
  notes: string[];
}

export interface Review {
  verdict: "accepted" | "rejected" | "";
  note: string;
}

export interface RuleRow {
  kind: "rule";
  id: number;
  members: number[];
  key: string;
  sentence: string;
  formal: string;
  conditions: string[];
  conclusion: string;
  likewise: string[];
  shown_with: number | null;
  also: string[];
  place: string;
  pattern: string;
  quantities_if: string[];
  quantity_then: string;
  kinds: string[];
  measures: Record<string, number | null>;
  n: number;
  n_antecedent: number;
  n_consequent: number;
  n_both: number;
  places: string;
  review: Review | null;
  card: string | null;
}

export interface Span {
  start: number;
  end: number;
}

export interface Stage {
  name: string;
  seconds: number;
}

export interface SystemPart {
  name: string;
  sites: string[];
  sensors: number;
  readings: number;
  start: number | null;
  end: number | null;
  step_seconds: number | null;
  recorded_seconds: number | null;
  kinds: Kind[];
  gaps: Gaps | null;
  graph: GraphSummary | null;
}

export interface Trace {
  name: string;
  sensor: string;
  kind: string;
  unit: string;
  node: string;
  role: string;
  times: number[];
  values: (number | null)[];
  states: string[];
  bands: Band[];
}

export interface Alert {
  id: number;
  monitor: number;
  time: number;
  kind: string;
  sentence: string;
  title: string;
  where: string[];
  evidence: string[];
  run: number | null;
  rule: number | null;
  key: string;
  says: string;
}

export interface AlertPage {
  alerts: Alert[];
  last: number;
  forgotten: number;
}

export interface Change {
  rule: RuleRow;
  other: RuleRow;
}

export interface Comparison {
  a: number;
  b: number;
  gained: RuleRow[];
  lost: RuleRow[];
  changed: Change[];
  n_gained: number;
  n_lost: number;
  n_changed: number;
  n_same: number;
  statements: StatementChange[];
}

export interface Envelope {
  sensor: string;
  name: string;
  kind: string;
  unit: string;
  states: string[];
  times: number[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface Facet {
  name: "kind" | "class" | "property" | "pattern" | "conclusion" | "review";
  choices: Count[];
  more: number;
}

export interface FindingsPage {
  counts: Record<string, number>;
  variants: number;
  total: number;
  offset: number;
  findings: (RuleRow | LawRow | ControlRow)[];
  named: Hit[];
  facets: Facet[];
  milliseconds: number;
}

export interface Here {
  kind: string;
  id: number;
  sentence: string;
  rows: number;
  held: number;
  exception: boolean;
}

export interface Hit {
  kind: "place" | "sensor";
  id: string;
  what: string;
  node: string;
}

export interface Monitor {
  id: number;
  name: string;
  alerts: number;
  last: number | null;
  health: Record<string, string>;
}

export interface NodeDetail {
  id: string;
  classes: string[];
  properties: string[][];
  sensors: string[];
  near: string[];
  neighbours: string[];
  here: Here[];
  alerts: Alert[];
  findings: number;
}

export interface Outline {
  mining: Mining;
  notes: string[];
}

export interface Problem {
  error: string;
  hint: string;
}

export interface ReviewRequest {
  key: string;
  verdict: "accepted" | "rejected" | "";
  note: string;
}

export interface Reviewed {
  key: string;
  review: Review | null;
}

export interface RunEntry {
  id: number;
  name: string;
  rules: number;
  laws: number;
  controls: number;
  enrichment: string;
  saved: boolean;
  data: "loading" | "ready" | "missing";
  why: string;
}

export interface Runs {
  version: string;
  measures: MeasureColumn[];
  runs: RunEntry[];
  monitors: Monitor[];
}

export interface Scatter {
  total: number;
  ids: number[];
  support: (number | null)[];
  confidence: (number | null)[];
  zhang: (number | null)[];
}

export interface SeriesPage {
  start: number;
  end: number;
  series: Envelope[];
}

export interface StatementChange {
  kind: string;
  part: "gained" | "lost" | "changed";
  sentence: string;
  before: string;
  after: string;
}
