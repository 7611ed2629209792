"""Hooks of mkdocs: outputs below code blocks that were run, the list of modules, and drawings in the page's colours.

Records (decisions, tables of experiments, what benchmarks printed) are copied into the site as they are: pages link to
them, nothing renders or searches them.

Outputs are stored by ``make docs-outputs``. Comments that tell the tests how to run a block, and those that say where a
number comes from (``findings.py``), are left out of the site.
"""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from page_blocks import BLOCK, ROOT, Block, block_of, output_key, read_outputs
from page_words import is_record

LONG = 26  # lines; longer output is folded
WIDE = 120  # characters, the width of the terminal that commands print to; longer lines are sentences, and wrap
SHORT_CODE = re.compile(r"<code>([^<>\s]{1,28})</code>")
SOURCE = re.compile(r"<!--(?:: [^>]*?|\.)-->")
IMAGE = re.compile(r'<p>\s*<img alt="(?P<alt>[^"]*)" src="(?P<source>[^"]*?img/[\w-]+\.svg)"[^>]*/?>\s*</p>')


class Record(File):
    """A Markdown file that is copied, and no page."""

    def is_documentation_page(self) -> bool:
        return False


def on_files(files: Files, *, config: Any, **_: object) -> Files:
    """Take records out of the pages."""
    for file in [file for file in files if is_record(file.src_uri)]:
        files.remove(file)
        files.append(Record(file.src_uri, config.docs_dir, config.site_dir, use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Put outputs below the blocks of a page, drop the comments before them, and rank guides first in the search."""
    if page.file.src_uri.startswith("results/"):
        page.meta.setdefault("search", {"boost": 0.05})
    markdown = markdown.replace("<!-- modules -->", module_tables() if "<!-- modules -->" in markdown else "")
    return with_plain_pipes(SOURCE.sub("", with_outputs(markdown, page=f"docs/{page.file.src_uri}")))


def on_page_content(content: str, *, page: Any, **_: object) -> str:
    """Put the drawings of ``docs/img`` into the page itself, to take its colours, and keep short code on one line."""
    folder = (ROOT / "docs" / page.file.src_uri).parent
    content = SHORT_CODE.sub(r'<code class="short">\1</code>', content)
    return IMAGE.sub(lambda found: inline_drawing(folder / found["source"], found["alt"]) or found[0], content)


def on_post_page(output: str, **_: object) -> str:
    """Give the search dialog of the theme a name for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def module_tables() -> str:
    """Every module of the package with the first line of its docstring, a table for each folder."""
    source = ROOT / "src" / "thence"
    folders: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py"), key=lambda path: (path.parent, path.name)):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        row = f"| `{path.relative_to(source).as_posix()}` | {docstring.partition(chr(10))[0]} |"
        folders.setdefault(path.parent.relative_to(source).as_posix(), []).append(row)
    return "\n\n".join(
        "\n".join([f"### `{'thence' if name == '.' else name}/`", "", "| module | job |", "|---|---|", *rows])
        for name, rows in folders.items()
    )


def with_outputs(markdown: str, *, page: str) -> str:
    """The Markdown of a page with the stored output below each block that printed something."""
    outputs = read_outputs(page)
    seen: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        block = block_of(found, page=page)
        key = output_key(block, seen)
        seen[key] = ""
        style = "{ .pycon .prose }" if block.language == "pycon" and has_sentences(block.text) else block.language
        return f"```{style}\n{block.text}```\n" + shown_output(outputs.get(key, ""), block)

    return BLOCK.sub(replace, markdown)


def with_plain_pipes(markdown: str) -> str:
    """``\\|`` in the code of a table, as GitHub needs it, without the backslash that mkdocs would show."""
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]),
        markdown,
        flags=re.M,
    )


def shown_output(output: str, block: Block) -> str:
    """An output as Markdown; text, whatever it contains."""
    if not output:
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", output)), default=0))
    language = "console" if block.language == "sh" and output.startswith("$ ") else "text"
    style = " .prose" if has_sentences(output) else ""
    fenced = f"{fence} {{ .{language} .output{style} }}\n{output}\n{fence}\n"
    count = output.count("\n") + 1
    if count > LONG:
        summary = f"<summary>Output ({count} lines)</summary>"
        return f'\n<details class="output" markdown="1">\n{summary}\n\n{fenced}\n</details>\n'
    return f'\n<p class="output-label">Output</p>\n\n{fenced}'


def has_sentences(text: str) -> bool:
    """Whether a line is longer than a terminal is wide: a sentence that may be broken, not a row of a table."""
    return any(len(line) > WIDE for line in text.splitlines())


def inline_drawing(path: Path, alt: str) -> str | None:
    """The SVG of a file as an element of the page, without the colours that it has on its own; ``None`` if not ours."""
    if not path.exists() or 'class="drawing"' not in (text := path.read_text(encoding="utf-8")):
        return None
    text = re.sub(r"<style>.*?</style>|<title>.*?</title>|<\?xml.*?\?>", "", text, flags=re.S).strip()
    text = text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(html.unescape(alt))}" ', 1)
    return f'<figure class="drawing" tabindex="0">{text}</figure>'
