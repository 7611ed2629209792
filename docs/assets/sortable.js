// Tables with numbers: right-aligned, sorted by a click or Enter on a heading: up, down, as written.
// A column has numbers if its cells start with one, then the same few letters or a known unit.
const SIZE = { ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400, kB: 1e3, MB: 1e6, GB: 1e9, "%": 1, "×": 1 };
const NUMBER = /^[\s~≈≤≥<>+]*([-−]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([^\d]*)/i;
const MISSING = /^[\s–—-]*$/;

function read(texts) {
  const found = texts.map((text) => (MISSING.test(text) ? null : NUMBER.exec(text)));
  if (!found.some(Boolean) || texts.some((text, i) => !found[i] && !MISSING.test(text))) return null;
  const units = found.map((match) => (match ? match[2].trim().split(/[\s(/]/)[0] : ""));
  const rests = new Set(found.filter(Boolean).map((match) => match[2].trim()));
  const same = rests.size === 1 && [...rests][0].length < 9;
  if (!same && !units.every((unit) => !/^[\p{L}%×]/u.test(unit) || unit === "of" || unit in SIZE)) return null;
  return found.map((match, i) => match && +match[1].replace(/,/g, "").replace("−", "-") * (SIZE[units[i]] ?? 1));
}

function prepare(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const body = table.tBodies[0];
  const rows = [...(body?.rows ?? [])];
  if (rows.length < 3 || rows.some((row) => row.cells.length !== heads.length)) return;
  const column = (_, c) => rows.map((row) => row.cells[c].textContent.trim());
  const numbers = heads.map(column).map(read);
  if (!numbers.some(Boolean)) return;
  let above = ""; // what an empty first cell stands for
  for (const { cells: [cell] } of rows) {
    if (cell.textContent.trim()) above = cell.textContent.trim();
    else if (above) cell.append(Object.assign(document.createElement("i"), { textContent: above }));
  }
  const columns = heads.map(column);
  heads.forEach((head, c) => {
    if (numbers[c]) for (const cell of [head, ...rows.map((row) => row.cells[c])]) cell.dataset.number = "";
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      const sign = order === "descending" ? -1 : 1;
      const compare = (a, b) => {
        if (!numbers[c]) return sign * columns[c][a].localeCompare(columns[c][b], "en", { numeric: 1 });
        const [x, y] = [numbers[c][a], numbers[c][b]];
        return x === null || y === null ? (x === null) - (y === null) : sign * (x - y);
      };
      const places = [...rows.keys()];
      if (order) head.setAttribute("aria-sort", order), places.sort(compare);
      body.append(...places.map((i) => rows[i]));
    });
  });
}

document.querySelectorAll(".md-typeset table:not([class])").forEach(prepare);
