"""Words of the documentation that is rendered, page by page.

    python -m tools.page_words

Records are left out: they are files that pages link to. Comments (of tests, and of where numbers come from) are not
words of a page; code and tables are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECORDS = ("decisions/*.md", "records/*.md", "results/*/table.md", "results/*/record.md")
COMMENT = re.compile(r"<!--.*?-->", re.S)


def is_record(path: str) -> bool:
    """Return whether a file of the documentation is a record and no page.

    Args:
        path: Path within ``docs``, with slashes.
    """
    return any(fnmatch(path, pattern) for pattern in RECORDS)


def count_words(text: str) -> int:
    """Return the number of words of a page: what has a letter or a digit, but no bars of tables and marks of headings.

    >>> count_words("## Two <!--: csv a.csv; b; c-->words<!--.--> | |")
    2

    Args:
        text: The page in Markdown.
    """
    return sum(any(sign.isalnum() for sign in word) for word in COMMENT.sub("", text).split())


def words_by_page() -> Mapping[str, int]:
    """Return the words of each page."""
    paths = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.glob("**/*.md"))}
    return {name: count_words(path.read_text(encoding="utf-8")) for name, path in paths.items() if not is_record(name)}


if __name__ == "__main__":
    words = words_by_page()
    for name, count in words.items():
        sys.stdout.write(f"{count:>7,}  {name}\n")
    sys.stdout.write(f"{sum(words.values()):>7,}  together\n")
