// Small hooks that all pages use.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** The width of an element in pixels, kept current. */
export function useWidth<T extends Element>(start = 720): [RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(start);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => {
      const now = Math.floor(element.getBoundingClientRect().width);
      if (now > 0) setWidth(now);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Whether the page is being printed. */
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(() => window.matchMedia("print").matches);
  useEffect(() => {
    const media = window.matchMedia("print");
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    const change = () => setPrinting(media.matches);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    media.addEventListener("change", change);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
      media.removeEventListener("change", change);
    };
  }, []);
  return printing;
}

export type Theme = "light" | "dark";
const THEME_KEY = "thence-theme";

function stored(): Theme | null {
  try {
    const value = window.localStorage.getItem(THEME_KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null; // No storage for this page: the choice lasts as long as the page.
  }
}

/** The theme in use, and a function that changes to the other one. */
export function useTheme(): [Theme, () => void] {
  const system = () => (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const [chosen, setChosen] = useState<Theme | null>(stored);
  const [preferred, setPreferred] = useState<Theme>(system);
  useEffect(() => {
    const media = window.matchMedia("(prefers-color-scheme: dark)");
    const change = () => setPreferred(system());
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  useLayoutEffect(() => {
    if (chosen) document.documentElement.dataset["theme"] = chosen;
  }, [chosen]);
  const theme = chosen ?? preferred;
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    setChosen(next);
    try {
      window.localStorage.setItem(THEME_KEY, next);
    } catch {
      // Nothing to keep it in.
    }
  };
  return [theme, toggle];
}

/** A search field that Ctrl-K goes to from anywhere on the page. */
export function useSearchKey(): RefObject<HTMLInputElement | null> {
  const ref = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      ref.current?.select();
      ref.current?.scrollIntoView({ block: "center" });
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return ref;
}
