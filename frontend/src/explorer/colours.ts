// Colours of the page for what is drawn on a canvas, which knows no variables of style sheets.
import { useEffect, useState } from "preact/hooks";

export interface Colours {
  text: string;
  surface: string;
  line: string;
  quiet: string;
  accent: string;
  strong: string;
  good: string;
  exception: string;
  classes: string[];
}

/** Corners of nodes by the position of their class, within a circle of radius 1; none for a circle. Colour is not the only sign. */
export const outlines: readonly (readonly (readonly [number, number])[] | null)[] = [
  null,
  [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  [[0, -1.05], [1, 0.8], [-1, 0.8]],
  [[0, -1.1], [1.1, 0], [0, 1.1], [-1.1, 0]],
  [[-0.5, -0.9], [0.5, -0.9], [1.05, 0], [0.5, 0.9], [-0.5, 0.9], [-1.05, 0]],
  [[0, -0.35], [1, -0.95], [0, 1.05], [-1, -0.95]],
  [[0, -1.05], [1, -0.3], [0.62, 0.9], [-0.62, 0.9], [-1, -0.3]],
  [[-1.1, -0.6], [1.1, -0.6], [1.1, 0.6], [-1.1, 0.6]],
];

function resolved(names: readonly string[]): string[] {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colours = names.map((name) => {
    probe.style.color = `var(${name})`;
    return window.getComputedStyle(probe).color;
  });
  probe.remove();
  return colours;
}

/** The colours in use now. */
export function coloursOf(): Colours {
  const [text = "", surface = "", line = "", quiet = "", accent = "", strong = "", good = "", exception = "", ...classes] = resolved([
    "--ink",
    "--bg",
    "--line-strong",
    "--faint",
    "--violated",
    "--ink",
    "--held",
    "--violated",
    ...outlines.map((_, position) => `--c${position}`),
  ]);
  return { text, surface, line, quiet, accent, strong, good, exception, classes };
}

export function colourOf(colours: Colours, position: number): string {
  return colours.classes[Math.min(position, colours.classes.length - 1)] ?? colours.quiet;
}

/** A text that changes whenever the colours of the page do. */
export function useThemeName(): string {
  const name = (): string => {
    const chosen = document.documentElement.dataset["theme"];
    return chosen ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  };
  const [theme, setTheme] = useState(name);
  useEffect(() => {
    const change = (): void => setTheme(name());
    const media = window.matchMedia("(prefers-color-scheme: dark)");
    const watch = new MutationObserver(change);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    media.addEventListener("change", change);
    change();
    return () => {
      watch.disconnect();
      media.removeEventListener("change", change);
    };
  }, []);
  return theme;
}
