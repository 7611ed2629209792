// Numbers, dates and the choice of rules: `npm test`. The sources are built in memory, so no other tool is needed.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

async function load(path) {
  const result = await build({ entryPoints: [join(here, "..", "src", path)], bundle: true, write: false, format: "esm", jsx: "automatic", jsxImportSource: "preact" });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].text).toString("base64")}`);
}

const format = await load("format.ts");
const rules = await load("components/rules.ts");
const { search, splitWords } = await load("components/search.ts");
const scales = await load("charts/scales.ts");
const FEB = Date.UTC(2021, 1, 3, 14, 5);

test("numbers have separators and no needless digits", () => {
  assert.equal(format.whole(1234567), "1,234,567");
  assert.equal(format.whole(-1234), "−1,234");
  assert.equal(format.whole(null), "–");
  assert.equal(format.number(0.30000000000000004), "0.3");
  assert.equal(format.number(12345.678), "12,346");
  assert.equal(format.number(1234.5678), "1,235");
  assert.equal(format.number(9999.96), "10,000");
  assert.equal(format.number(-0.00012345), "−0.0001234");
  assert.equal(format.number(1e-9), "1.00e−9");
  assert.equal(format.number(100), "100");
  assert.equal(format.number(Number.NaN), "–");
  assert.equal(format.number(-Infinity), "−∞");
  assert.equal(format.fixed(-0.001), "0.00");
  assert.equal(format.quantity(3.2, "l/s"), "3.2\u00a0l/s");
  assert.equal(format.quantity(null, "l/s"), "–");
});

test("only what is exact is called 0 % or 100 %", () => {
  assert.equal(format.percent(1), "100\u00a0%");
  assert.equal(format.percent(0), "0\u00a0%");
  assert.equal(format.percent(0.99999), "99.9\u00a0%");
  assert.equal(format.percent(0.00001), "<\u00a00.1\u00a0%");
  assert.equal(format.percent(0.125), "12.5\u00a0%");
  assert.equal(format.percent(null), "–");
});

test("dates, periods and durations are readable", () => {
  assert.equal(format.moment(FEB), "3 Feb 2021, 14:05");
  assert.equal(format.clock(FEB + 7000), "14:05:07");
  assert.equal(format.period(FEB, FEB + 3_600_000), "3 Feb 2021, 14:05 – 15:05");
  assert.equal(format.period(FEB, FEB + 10 * 86_400_000), "3 Feb – 13 Feb 2021");
  assert.equal(format.period(FEB, FEB + 400 * 86_400_000), "3 Feb 2021 – 10 Mar 2022");
  assert.equal(format.duration(60), "1 min");
  assert.equal(format.duration(3600), "1 h");
  assert.equal(format.duration(90), "90 s");
  assert.equal(format.duration(208.4), "3 min 28 s");
  assert.equal(format.duration(179.7), "3 min");
  assert.equal(format.duration(1800), "30 min");
  assert.equal(format.duration(259_200), "3 days");
  assert.equal(format.every(60), "every minute");
  assert.equal(format.every(300), "every 5 min");
});

test("plurals and sentences", () => {
  assert.equal(format.plural(1, "rule"), "1 rule");
  assert.equal(format.plural(0, "stretch", "stretches"), "0 stretches");
  assert.equal(format.sentence("for every Pipe: its flow is 0"), "For every Pipe: its flow is 0");
  assert.equal(format.sentence("pump_1 opens at 01:00"), "pump_1 opens at 01:00");
  assert.equal(format.sentence("x stays within ± 0.3 m (45 %)"), "x stays within ±\u00a00.3 m (45\u00a0%)");
  assert.equal(format.words("supply_air_temperature"), "supply air temperature");
});

const rule = (id, more) => ({ id, sentence: `rule ${id}`, formal: "", place: "", places: "", likewise: [], kinds: ["flow"], shown_with: null, quantities_if: ["flow"], quantity_then: "pressure", ...more, measures: { support: 0.1, confidence: 0.9, lift: 2, zhang: 0.5, ...more?.measures } });

test("rules without a value come last in both orders, and the order of the run stays among equals", () => {
  const all = [rule(0, { measures: { lift: null } }), rule(1, { measures: { lift: 1 } }), rule(2, { measures: { lift: 3 } }), rule(3, { measures: { lift: 1 } })];
  const order = (sort) => rules.sorted(all, sort).map((one) => one.id);
  assert.deepEqual(order({ by: "lift", descending: true }), [2, 1, 3, 0]);
  assert.deepEqual(order({ by: "lift", descending: false }), [1, 3, 2, 0]);
  assert.deepEqual(order(null), [0, 1, 2, 3]);
});

test("filters agree with each other", () => {
  const all = [rule(0, {}), rule(1, { shown_with: 0 }), rule(2, { kinds: ["flow", "level"], measures: { confidence: null } }), rule(3, {})];
  const found = (part) => all.filter((one) => rules.passes(one, { ...rules.NO_FILTER, ...part })).map((one) => one.id);
  assert.deepEqual(found({}), [0, 1, 2, 3]);
  assert.deepEqual(found({ kinds: ["level"] }), [2]);
  assert.deepEqual(found({ confidence: 0.5 }), [0, 1, 3]);
  assert.deepEqual(found({ chosen: 1 }), [1]);
  assert.deepEqual(found({ cell: ["flow", "pressure"] }), [0, 1, 2, 3]);
  assert.deepEqual(found({ region: { x: [0, 1], y: [0, 1] } }), [0, 1, 3]);
  assert.equal(rules.isFiltered(rules.NO_FILTER), false);
  const law = (part, share = 0.9) => rules.passesLogic({ kinds: ["flow"] }, share, { ...rules.NO_FILTER, ...part });
  assert.deepEqual([law({}), law({ confidence: 0.8 }), law({ confidence: 0.95 }), law({ confidence: 0.5 }, null)], [true, true, false, false]);
  assert.deepEqual([law({ kinds: ["flow"] }), law({ kinds: ["level"] }), law({ lift: 1 }), law({ chosen: 3 })], [true, false, false, false]);
});

const { recordedText } = await load("report/Facts.tsx");

test("what was recorded is said as people say it", () => {
  const day = 86_400_000;
  const system = { start: 0, end: 640 * day, recorded_seconds: 15 * 86_400, sensors: 17, step_seconds: 60, sites: [] };
  assert.match(recordedText(system), /^15 days within 21 months, 1 Jan 1970 – 3 Oct 1971; 17 sensors, one reading every minute\.$/);
  assert.match(recordedText({ ...system, end: 28 * day, recorded_seconds: 27.9 * 86_400 }), /^28 days, 1 Jan – 29 Jan 1970; /);
  assert.equal(recordedText({ ...system, start: null, end: null, step_seconds: null, sites: ["a", "b"] }), "17 sensors at 2 sites.");
});

test("words are split and looked up as in Python", () => {
  // The same as in tests/explorer/test_rule_index.py.
  assert.deepEqual(splitWords('If  the FLOW, then "Is On" then:"a b" and'), ["the", "flow", "is on", "then:a b"]);
  assert.deepEqual(splitWords('""  " '), []);
  assert.deepEqual(splitWords('"unfinished phrase'), ["unfinished phrase"]);
  const texts = ["the level of tank 1 rises", "pump 335 closes", "pipe 330", "its flow is 0"];
  const statements = [
    { kind: "control", id: 0, left: [0], right: [1], whole: [2] },
    { kind: "law", id: 0, left: [], right: [], whole: [3, 1] },
    { kind: "rule", id: 0, left: [3], right: [0], whole: [] },
  ];
  const found = (text) => search({ texts, statements }, text).map((one) => one.kind);
  assert.deepEqual(found(""), ["control", "law", "rule"]);
  assert.deepEqual(found("Pump 335"), ["control", "law"]);
  assert.deepEqual(found('"pump 335" level'), ["control"]);
  assert.deepEqual(found("then:level"), ["rule"]);
  assert.deepEqual(found("if:level"), ["control"]);
  assert.deepEqual(found("then:pipe"), []);
});

test("the nearest time is found at both ends and between", () => {
  const times = [0, 10, 20, 40];
  assert.equal(scales.nearest(times, -5), 0);
  assert.equal(scales.nearest(times, 14), 1);
  assert.equal(scales.nearest(times, 31), 3);
  assert.equal(scales.nearest(times, 99), 3);
  assert.equal(scales.nearest([7], 3), 0);
  const flat = scales.linear([5, 5], [0, 100]);
  assert.equal(flat(5), 50);
});

const { wrap } = await load("charts/TraceChart.tsx");

test("long titles are broken between words, and the last line is shortened", () => {
  assert.deepEqual(wrap("short", 10, 3), ["short"]);
  assert.deepEqual(wrap("the flow of the pipe", 12, 3), ["the flow of", "the pipe"]);
  assert.deepEqual(wrap("one two three four five six", 8, 2), ["one two", "three f…"]);
  assert.deepEqual(wrap("unbreakableword", 8, 2), ["unbreak…"]);
});
