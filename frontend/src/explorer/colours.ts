// Colours of the page for what is drawn on a canvas, which knows no variables of style sheets.
import { useEffect, useState } from "preact/hooks";

export interface Colours {
  text: string;
  surface: string;
  line: string;
  quiet: string;
  accent: string;
  strong: string;
  classes: string[];
}

/** Shapes of nodes by the position of their class, so that colour is not the only sign. */
export const shapes: readonly string[] = ["ellipse", "rectangle", "triangle", "diamond", "hexagon", "vee", "pentagon", "round-rectangle"];

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
  const [text = "", surface = "", line = "", quiet = "", accent = "", strong = "", ...classes] = resolved([
    "--ink",
    "--bg",
    "--line-strong",
    "--faint",
    "--violated",
    "--ink",
    ...shapes.map((_, position) => `--c${position}`),
  ]);
  return { text, surface, line, quiet, accent, strong, classes };
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
