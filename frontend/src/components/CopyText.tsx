// A button that copies a text and says so.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Copies a text; false if the browser does not let a page do that. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyText({ text, children, cls = "link small" }: { text: () => string; children: ComponentChildren; cls?: string }) {
  const [said, setSaid] = useState("");
  const copy = (): void => {
    void copied(text()).then((done) => setSaid(done ? "Copied" : "The browser does not allow copying"));
    window.setTimeout(() => setSaid(""), 2500);
  };
  return (
    <button type="button" class={cls} onClick={copy}>
      <span aria-live="polite">{said || children}</span>
    </button>
  );
}
