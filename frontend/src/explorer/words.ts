// Small matters of wording.

/** A sentence with a capital at its start, if it starts with a word of ours and not with a name from the data. */
export function sentence(text: string): string {
  return /^(for every|for one|for the|if|the|when|in|at|some|every|a|an|no|whenever)\b/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
