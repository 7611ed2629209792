// Small matters of wording.

const opening = /^(for every|for one|for the|if|the|when|in|at|some|every|a|an|no|whenever)\b/;

/** A sentence as it is shown: a capital at its start, unless that is a name from the data, and "60 %" on one line. */
export function sentence(text: string): string {
  const whole = text.replace(/(\d) %/g, "$1\u00a0%");
  return opening.test(whole) ? whole.charAt(0).toUpperCase() + whole.slice(1) : whole;
}
