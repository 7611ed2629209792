"""What the hooks of mkdocs do to a page: outputs below blocks, pipes in tables, drawings."""

from __future__ import annotations

import html
import importlib
from pathlib import Path
from types import ModuleType

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.page_blocks import BLOCK, ROOT, Block, block_of

PAGE = "docs/guide/page.md"
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        return importlib.import_module("docs_hooks")


def block(text: str, language: str = "python") -> Block:
    (found,) = BLOCK.finditer(f"```{language}\n{text}\n```\n")
    return block_of(found, page=PAGE)


def rendered(text: str) -> str:
    return markdown.markdown(text, extensions=["attr_list", "md_in_html", "tables", "pymdownx.superfences"])


@given(lines=st.lists(TEXT, min_size=1, max_size=40))
@pytest.mark.parametrize("first", ["", "```", "~~~~", "<script>alert(1)</script>", "</details>", "| a |", "{: .x }"])
def test_an_output_is_shown_as_text_whatever_it_contains(hooks: ModuleType, first: str, lines: list[str]) -> None:
    output = "\n".join(["begin", first, *lines, "end"])
    page = rendered(f"Before\n\n{hooks.shown_output(output, block('print(1)'))}\nAfter")
    assert page.startswith("<p>Before</p>")
    assert page.endswith("<p>After</p>")
    assert "<script>" not in page
    code = page.partition("<code>")[2].partition("</code>")[0]
    assert html.unescape(code).split() == output.split()


def test_long_output_is_folded_and_long_lines_wrap(hooks: ModuleType) -> None:
    assert "<details" not in hooks.shown_output("line\n" * 20, block("print(1)"))
    assert "Output (100 lines)" in hooks.shown_output("\n".join(["line"] * 100), block("print(1)"))
    assert ".prose" in hooks.shown_output("word " * 40, block("print(1)"))
    assert hooks.shown_output("", block("print(1)")) == ""


def test_comments_to_the_tests_are_left_out(hooks: ModuleType) -> None:
    page = hooks.with_outputs("<!-- not run: takes hours -->\n```sh\nthence demo\n```\n", page=PAGE)
    assert page == "```sh\nthence demo\n```\n\n"


def test_a_session_with_sentences_wraps(hooks: ModuleType) -> None:
    page = hooks.with_outputs(f"```pycon\n>>> print(rule)\n{'word ' * 30}\n```\n", page=PAGE)
    assert page.startswith("```{ .pycon .prose }\n>>> print")
    assert 'class="prose highlight"' in rendered(page)


def test_a_pipe_in_the_code_of_a_table_has_no_backslash(hooks: ModuleType) -> None:
    page = "| a | b |\n|---|---|\n| `x \\| y` | z \\| w |\n\nOutside `x \\| y`\n"
    assert "| `x | y` | z \\| w |" in hooks.with_plain_pipes(page)
    assert "Outside `x \\| y`" in hooks.with_plain_pipes(page)
    assert "<code>x | y</code>" in rendered(hooks.with_plain_pipes(page))


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/img/*.svg")), ids=lambda path: path.name)
def test_drawings_take_the_colours_of_the_page(hooks: ModuleType, path: Path) -> None:
    drawing = hooks.inline_drawing(path, 'A "rule" &amp; its places')
    assert 'aria-label="A &quot;rule&quot; &amp; its places"' in drawing
    assert "<style>" not in drawing
    assert "href" not in path.read_text(encoding="utf-8")


def test_other_images_stay_images(hooks: ModuleType) -> None:
    assert hooks.inline_drawing(ROOT / "docs" / "crossover.svg", "a chart") is None
    assert hooks.inline_drawing(ROOT / "docs" / "img" / "missing.svg", "nothing") is None
