// Keys of the page. A key means something only while nothing is being typed and no dialog is open.
import { useEffect, useRef } from "preact/hooks";

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Calls the function of a key when it is pressed. Escape also works while typing: it leaves the field. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && document.querySelector("dialog[open]") === null) {
        event.preventDefault();
        latest.current["/"]?.(event);
        return;
      }
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (typing(event.target)) {
        if (event.key === "Escape" && event.target instanceof HTMLElement) event.target.blur();
        return;
      }
      // Arrow keys belong to tabs, radio buttons and charts that have the focus.
      if (event.key.startsWith("Arrow") && event.target instanceof HTMLElement && event.target.closest("[role=tablist], .cursor-layer, [type=radio]") !== null) return;
      const act = latest.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
