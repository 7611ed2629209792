// The switch between light and dark.
import { useTheme } from "../hooks";

export function ThemeToggle() {
  const [theme, toggle] = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <button type="button" class="button plain theme-toggle no-print" onClick={toggle} aria-label={`Use ${other} colours`} title={`Use ${other} colours`}>
      <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
        <circle cx="9" cy="9" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        <path d="M9 2.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
      </svg>
    </button>
  );
}
