// A list that one walks through with the arrow keys or j and k: one stop for the tab key, the rest by arrows.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props<T> {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string | number;
  /** The position of the item that is open, or −1. */
  current: number;
  onOpen: (item: T, position: number) => void;
  children: (item: T, position: number) => ComponentChildren;
  /** Something before the item, such as a box to tick. */
  before?: (item: T, reachable: boolean) => ComponentChildren;
  classOf?: (item: T) => string;
  busy?: boolean;
}

export function List<T>({ label, items, keyOf, current, onOpen, children, before, classOf, busy = false }: Props<T>): JSX.Element {
  const ref = useRef<HTMLUListElement>(null);
  const stop = current >= 0 && current < items.length ? current : 0;
  const focus = (position: number): void => {
    const buttons = ref.current?.querySelectorAll<HTMLElement>(":scope > li > .item");
    const button = buttons?.[position];
    button?.focus();
  };
  useEffect(() => {
    if (current < 0) return;
    const item = ref.current?.children[current];
    item?.scrollIntoView({ block: "nearest" });
    if (ref.current?.contains(document.activeElement)) focus(current);
  }, [current, items]);
  return (
    <ul
      class="list"
      ref={ref}
      aria-label={label}
      aria-busy={busy}
      onKeyDown={(event) => {
        const active = document.activeElement?.closest("li");
        const at = active ? Array.prototype.indexOf.call(ref.current?.children ?? [], active) : stop;
        if (event.key === "Home") focus(0);
        else if (event.key === "End") focus(items.length - 1);
        else if (event.key === "ArrowDown" && at + 1 < items.length && current < 0) focus(at + 1);
        else if (event.key === "ArrowUp" && at > 0 && current < 0) focus(at - 1);
        else return;
        event.preventDefault();
      }}
    >
      {items.map((item, position) => (
        <li key={keyOf(item)} class={classOf?.(item) ?? ""}>
          {before?.(item, position === stop)}
          <button
            type="button"
            class="item"
            tabIndex={position === stop ? 0 : -1}
            aria-current={position === current ? "true" : undefined}
            onClick={() => onOpen(item, position)}
          >
            {children(item, position)}
          </button>
        </li>
      ))}
    </ul>
  );
}
