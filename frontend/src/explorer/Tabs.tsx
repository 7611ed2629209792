// Tabs with the keys that one expects of them: arrows move, one stop for the tab key.
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";

interface Props<T extends string> {
  label: string;
  id: string;
  tabs: readonly (readonly [T, string])[];
  current: T;
  onChange: (tab: T) => void;
  children: ComponentChildren;
}

export function Tabs<T extends string>({ label, id, tabs, current, onChange, children }: Props<T>): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number): void => {
    const at = tabs.findIndex(([name]) => name === current);
    const next = (at + by + tabs.length) % tabs.length;
    const name = tabs[next]?.[0];
    if (name === undefined) return;
    onChange(name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs">
      <div
        class="tab-list"
        role="tablist"
        aria-label={label}
        ref={list}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") move(1);
          else if (event.key === "ArrowLeft") move(-1);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        {tabs.map(([name, title]) => (
          <button
            type="button"
            key={name}
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === current}
            aria-controls={`${id}-panel`}
            tabIndex={name === current ? 0 : -1}
            onClick={() => onChange(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`} tabIndex={-1}>
        {children}
      </div>
    </div>
  );
}
