// The search of statements by words: the same texts and the same splitting as thence.statements.search.
import type { IndexedTexts, SearchIndex } from "../types";

const joining = new Set(["if", "then", "and", "→", "∧", "⊢"]);
const word = /(?:(?:if|then):)?"[^"]*"?|[^\s"]+/g;
const folded = (text: string): string => text.toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");

/** The words of what was typed: a phrase in double quotes is one, and if: or then: names a side. */
export function splitWords(text: string): string[] {
  const found = (folded(text).match(word) ?? []).map((each) => each.replaceAll('"', "").trim().replace(/^[,;]+|[,;]+$/g, ""));
  return [...new Set(found.filter((each) => each !== "" && !joining.has(each)))];
}

/** Whether each word of a text occurs in one of some texts. */
export function hasWords(texts: readonly string[], text: string): boolean {
  const lower = texts.map(folded);
  return splitWords(text).every((each) => lower.some((one) => one.includes(each)));
}

/** The statements that have each word in some text, in reading order. */
export function search({ texts, statements }: SearchIndex, text: string): IndexedTexts[] {
  let found = statements;
  for (const each of splitWords(text)) {
    const [, side, rest = each] = /^(if|then):(.+)$/s.exec(each) ?? [];
    const hits = texts.map((one) => one.includes(rest));
    const has = (numbers: number[]): boolean => numbers.some((at) => hits[at]);
    found = found.filter(({ left, right, whole }) => (side !== "then" && has(left)) || (side !== "if" && has(right)) || (side === undefined && has(whole)));
  }
  return found;
}
