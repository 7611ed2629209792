"""Mutations of files: damage of bytes, and changes that know a format. Seeded; they read nothing."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Chance = random.Random
Mutation = Callable[[bytes, Chance], bytes]

# What a cell, a value, an attribute or a token is replaced by. Each has broken a reader of some kind.
NASTY = (
    *("", " ", "\t", "0", "-0", "1e400", "-1e400", "NaN", "nan", "inf", "-Infinity", "n/a", "null", "None", "TRUE"),
    *(
        "1" * 400,
        "1" * 5_000,
        "0x10",
        "1_000",
        "1,000.5",
        "1.000,5",
        "١٢٣",
        "½",
        "1e",
        "--1",
        "+",
        "0." + "0" * 400 + "1",
    ),
    *("x" * 200_000, '"', "'", '""', '"a', "\\", "`", ",", ";", "|", "\n", "\r", "\r\n", "\x00", "\x1b[31mred\x1b[0m"),
    *("\ufeff", "\u202eabc", "\u2028", "\ud7ff", "é", "e\u0301", "漢字", "🙂", "\x7f", "\x85"),
    *("=1+1", "@SUM(A1)", "-1+1", "+1", "{}", "{0}", "{1}", "{x.__class__}", "%s", "%n", "${x}", "{{x}}", "$1"),
    *(
        "<b>",
        "</script>",
        "&amp;",
        "&x;",
        "<!--",
        "]]>",
        "' OR 1=1 --",
        "} UNION {",
        "../../etc/passwd",
        "/",
        ".",
        "..",
    ),
    *("con", "a" * 300, "time", "sensor", "value", "id", "true", "false", "[]", "{}", "-", "_", "#", "#N/A", "?", "*"),
    *("2024-01-01", "2024-02-30", "20-01-01", "0020-01-01", "0000-00-00", "9999-12-31 23:59:59", "10000-01-01"),
    *("-4712-01-01", "1/2/3", "13/13/2024", "2024-01-01T00:00:00+05:30", "2024-01-01T25:00", "12:00", "1700000000"),
    *("99999999999999999999", "-1", "9223372036854775808", "1970-01-01", "2024-01-01 00:00 CET", "2262-04-12", "P1D"),
)
# Pieces that are put between others.
PIECES = (
    *(b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\r", b"\n", b"\r\n"),
    *(
        b'"',
        b'""',
        b"'",
        b"\\",
        b",",
        b";",
        b"\t",
        b"|",
        b"<",
        b">",
        b"&",
        b"]]>",
        b"<!--",
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
    ),
    *(b"#", b"@", b"=", b":", b" ", b"\x1a", b"\x1b[2J", b"\xe2\x80\xae", b"0" * 500, b"\n" * 2_000, b"," * 5_000),
    *(b"[" * 50_000, b"{" * 50_000, b"(" * 20_000, b'{"a":' * 20_000, b"<a>" * 20_000, b"[ ex:p " * 5_000),
)


def nasty(chance: Chance) -> str:
    """Return a piece of text that readers do not expect."""
    return chance.choice(NASTY)


def damage(data: bytes, chance: Chance) -> bytes:
    """Damage bytes: flip, insert, remove, repeat or move some, or cut the end off."""
    if not data:
        return chance.choice(PIECES)
    at = chance.randrange(len(data))
    size = min(chance.choice((1, 1, 2, 8, 64, 512)), len(data) - at)
    act = chance.randrange(7)
    if act == 0:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    if act == 1:
        return data[:at] + chance.choice(PIECES) + data[at:]
    if act == 2:
        return data[:at] + data[at + size :]
    if act == 3:
        return data[: at + size] + data[at : at + size] * chance.choice((1, 3, 100)) + data[at + size :]
    if act == 4:
        return data[:at]
    if act == 5:
        to = chance.randrange(len(data))
        return data[:to] + data[at : at + size] + data[to:]
    return data[:at] + chance.randbytes(size) + data[at + size :]


def lines(data: bytes, chance: Chance) -> bytes:
    """Change lines: remove, repeat, move, join or empty them, or change their ends."""
    rows = data.split(b"\n")
    at = chance.randrange(len(rows))
    act = chance.randrange(8)
    if act == 0:
        del rows[at]
    elif act == 1:
        rows[at:at] = [rows[at]] * chance.choice((1, 2, 500))
    elif act == 2:
        chance.shuffle(rows)
    elif act == 3:
        rows[at : at + 2] = [b"".join(rows[at : at + 2])]
    elif act == 4:
        rows[at] = b""
    elif act == 5:
        return data.replace(b"\n", chance.choice((b"\r", b"\r\n", b"\n\n", b"\r\r\n", b"\x0b", b"\xc2\x85")))
    elif act == 6:
        rows[at:at] = [b"#" * chance.choice((1, 3)) + b" a comment"]
    else:
        rows.insert(0, chance.choice((b"sep=;", b"\xef\xbb\xbf", b"", b"Title of the export", b"# unit: m3/h")))
    return b"\n".join(rows)


def recode(data: bytes, chance: Chance) -> bytes:
    """Write text in another encoding, or compress it."""
    encoding = chance.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "cp037", "gzip"))
    if encoding == "gzip":
        return gzip.compress(data, mtime=0)
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def cells(separator: bytes) -> Mutation:
    """Return the mutations of a delimited table: cells, columns, quotes and separators."""

    def mutate(data: bytes, chance: Chance) -> bytes:
        rows = [row.split(separator) for row in data.split(b"\n")]
        at = chance.randrange(len(rows)) if chance.random() < 0.7 else 0
        column = chance.randrange(max(len(rows[at]), 1))
        act = chance.randrange(9)
        new = nasty(chance).encode("utf-8", "surrogatepass")
        if act <= 2:
            rows[at][column] = new
        elif act == 3:
            rows[at][column] = b'"' + rows[at][column] + new + chance.choice((b'"', b""))
        elif act == 4:
            for row in rows[1:]:
                if column < len(row) and chance.random() < 0.5:
                    row[column] = nasty(chance).encode("utf-8", "surrogatepass") if chance.random() < 0.2 else new
        elif act == 5:
            for row in rows:
                if column < len(row):
                    del row[column]
        elif act == 6:
            for row in rows:
                if column < len(row):
                    row.insert(chance.randrange(len(row) + 1), row[column])
        elif act == 7:
            rows[at] += [new] * chance.choice((1, 3, 2_000))
        else:
            other = chance.choice((b";", b"\t", b"|", b" ", b"  ", b"::", b", "))
            return b"\n".join(other.join(row) for row in rows)
        return b"\n".join(separator.join(row) for row in rows)

    return mutate


def tree(data: bytes, chance: Chance) -> bytes:
    """Change a JSON document: values, types, keys that are missing, twice or new, and how deep it is."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return damage(data, chance)
    spots: list[tuple[Any, Any]] = []
    todo: list[Any] = [document]
    while todo:
        node = todo.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        spots += [(node, key) for key in keys]
        todo += [node[key] for key in keys]
    if not spots:
        return json.dumps(nasty(chance)).encode()
    node, key = chance.choice(spots)
    act = chance.randrange(8)
    if act <= 2:
        node[key] = odd_value(chance)
    elif act == 3:
        del node[key]
    elif act == 4:
        node[key] = [node[key]]
    elif act == 5:
        node[key] = {chance.choice(("id", "", "name", nasty(chance)[:300])): node[key]}
    elif act == 6 and isinstance(node, dict):
        node[nasty(chance)[:1_000] if chance.random() < 0.7 else key + "s"] = node.pop(key)
    elif isinstance(node, list):
        node += [node[key]] * chance.choice((1, 2, 200))
    else:
        mark = f"fuzz{chance.randrange(10**9)}"
        node[mark] = node[key]
        return json.dumps(document).replace(json.dumps(mark), json.dumps(key)).encode("utf-8", "surrogatepass")
    return json.dumps(document).encode("utf-8", "surrogatepass")


def odd_value(chance: Chance) -> Any:
    """Return a value that JSON can hold and a field seldom expects."""
    values: tuple[Any, ...] = (
        *(None, True, False, 0, -1, 1.5, 1e308, float("nan"), float("inf"), 10**30, 2**63, -(2**31), [], {}, [[]], ""),
        *([None], [1, "a"], {"a": 1}, "x" * 10_000, "\ud800", [0] * 1_000, {"": ""}, "1", "2024-01-01", ["a", "a"]),
    )
    return chance.choice(values) if chance.random() < 0.7 else nasty(chance)


def deep(opening: bytes, closing: bytes) -> Mutation:
    """Return the mutation that nests something a hundred to a hundred thousand times."""

    def mutate(data: bytes, chance: Chance) -> bytes:
        times = chance.choice((100, 1_000, 5_000, 100_000))
        at = chance.choice([found.end() for found in re.finditer(rb"[:=,\[{ ]", data)] or [0])
        return data[:at] + opening * times + b"1" + closing * times + data[at:]

    return mutate


def tokens(pattern: bytes, extra: tuple[bytes, ...] = ()) -> Mutation:
    """Return the mutations of tokens that a pattern finds: replaced, removed, repeated, or exchanged for another."""

    def mutate(data: bytes, chance: Chance) -> bytes:
        found = list(re.finditer(pattern, data))
        if not found:
            return damage(data, chance)
        spot = chance.choice(found)
        act = chance.randrange(5)
        if act == 0 and extra:
            new = chance.choice(extra)
        elif act <= 1:
            new = nasty(chance).encode("utf-8", "surrogatepass")
        elif act == 2:
            new = b""
        elif act == 3:
            new = spot[0] + b" " + spot[0]
        else:
            new = chance.choice(found)[0]
        return data[: spot.start()] + new + data[spot.end() :]

    return mutate


_VALUES = rb"(?<==)[^\n#]+"
_TOML_VALUES = (
    *(b' ""', b" 0", b" -1", b" nan", b" inf", b" true", b" []", b" {}", b" [[]]", b' ["a", 1]', b" 1e400", b' "x"'),
    *(b" 2024-01-01", b" 07:32:00", b" 1979-05-27T07:32:00Z", b" 9999999999999999999999", b' "' + b"x" * 9_000 + b'"'),
    *(
        b" [" * 3_000,
        b" {a=" * 3_000,
        b' "\\ud800"',
        b' "\\u001b[31m"',
        b' "0s"',
        b' "999999999999d"',
        b' "-1h"',
        b" 0x10",
    ),
)
_TURTLE = rb'"[^"]*"|[\w:]+|[;.,\[\]()]|<[^>]*>'
_ENTITY = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
_LAUGHS = b"".join(
    b'<!ENTITY %c "%s">' % (98 + level, b"&%c;" % (97 + level) * 10) for level in range(1, 12)
)  # a billion and more
_PROLOGUES = (
    _ENTITY + b"]>",
    _ENTITY + _LAUGHS + b"]>",
    b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>',
    b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
    b'<?xml version="1.1"?>',
    b'<?xml version="1.0" encoding="no-such"?>',
    b'<?xml version="1.0" encoding="utf-16"?>',
)


def prologue(data: bytes, chance: Chance) -> bytes:
    """Give an XML document another beginning: entities, external ones, encodings that do not exist."""
    data = re.sub(rb"^\s*<\?xml[^>]*\?>", b"", data)
    if chance.random() < 0.7:
        name = chance.choice((b"&a;", b"&k;", b"&f;", b"&z;"))
        spots = [found.end() for found in re.finditer(rb">", data)] or [0]
        at = chance.choice(spots)
        data = data[:at] + name + data[at:]
    return chance.choice(_PROLOGUES) + data


def archive(inner: Callable[[str], tuple[Mutation, ...]]) -> Mutation:
    """Return the mutations of a zip archive: of what is in its members, and of which members there are."""

    def mutate(data: bytes, chance: Chance) -> bytes:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as source:
                members = {name: source.read(name) for name in source.namelist()}
        except Exception:
            return damage(data, chance)
        if not members:
            return damage(data, chance)
        name = chance.choice(list(members))
        act = chance.randrange(6)
        if act == 0:
            del members[name]
        elif act == 1:
            members[chance.choice(("../evil", "/tmp/evil", "extra", name + "2"))] = members[name]
        else:
            members[name] = chance.choice(inner(name))(members[name], chance)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
            for member, content in members.items():
                target.writestr(zipfile.ZipInfo(member), content)
        return out.getvalue()

    return mutate


def arrays(data: bytes, chance: Chance) -> bytes:
    """Change the arrays of an ``.npz`` archive: another type, shape or value, one that is missing or new."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as source:
            found = {name: source[name] for name in source.files}
    except Exception:
        return damage(data, chance)
    if not found:
        return damage(data, chance)
    name = chance.choice(list(found))
    array = found[name]
    act = chance.randrange(8)
    if "meta" in found and chance.random() < 0.5:
        found["meta"] = np.frombuffer(tree(found["meta"].tobytes(), chance), dtype=np.uint8)
    elif act == 0:
        del found[name]
    elif act == 1:
        found[name] = array.reshape(-1)[: array.size // 2]
    elif act == 2:
        found[name] = (
            np.asarray(array).astype(chance.choice(("float64", "int8", "bool", "U8")), copy=True)
            if (array.dtype.kind in "iufb")
            else np.zeros(array.shape)
        )
    elif act == 3:
        found[name] = array[None]
    elif act == 4 and array.dtype.kind in "iuf" and array.size:
        changed = array.copy().reshape(-1)
        changed[chance.randrange(array.size)] = chance.choice((0, 1, 100, 120))
        found[name] = changed.reshape(array.shape)
    elif act == 5:
        found["more"] = array
    else:
        found[name] = np.full(array.shape, chance.choice((-1, 2**62, np.nan, 0)))
    out = io.BytesIO()
    np.savez(out, **found)
    return out.getvalue()


TEXT: tuple[Mutation, ...] = (damage, lines, recode)
XML: tuple[Mutation, ...] = (
    *(damage, lines, recode, prologue, prologue, deep(b"<a>", b"</a>"), tokens(rb"<[^>]*>")),
    *(tokens(rb'(?<=")[^"]*(?=")'), tokens(rb"(?<=>)[^<]+(?=<)"), tokens(rb"[\w:.-]+")),
)
BY_SUFFIX: dict[str, tuple[Mutation, ...]] = {
    "csv": (*TEXT, *[cells(b",")] * 5),
    "json": (*TEXT, *[tree] * 6, deep(b"[", b"]"), deep(b'{"a":', b"}")),
    "toml": (
        *TEXT,
        *[tokens(_VALUES, _TOML_VALUES)] * 4,
        tokens(rb"(?<![\w.])[\w.]+(?= *=)"),  # from the beginning of a word: linear in long ones
        tokens(rb"\[[\w.]+\]"),
        deep(b"[", b"]"),
    ),
    "graphml": XML,
    "rdf": XML,
    "ttl": (
        *(damage, lines, recode, deep(b"[ <http://x/p> ", b"]"), deep(b"( ", b")")),
        *[
            tokens(
                rb'"[^"]*"|[\w:]+|[;.,\[\]()]|<[^>]*>', (b"<a b>", b"<x>", b"[]", b"()", b"_:b", b'"1"^^xsd:dateTime')
            )
        ]
        * 4,
    ),
    "jsonld": (*TEXT, *[tree] * 6, deep(b"[", b"]"), deep(b'{"ex:a":', b"}")),
    "inp": (*TEXT, cells(b" "), *[tokens(rb"[^\s]+", (b"[END]", b"[PIPES]", b"OPEN", b"CV", b"-5", b"J1"))] * 4),
    "parquet": (damage,),
    "xlsx": (damage, *[archive(lambda name: XML if name.endswith((".xml", ".rels")) else (damage,))] * 5),
    "npz": (damage, *[arrays] * 4, archive(lambda name: (damage,))),
    "html": (damage,),
    "txt": TEXT,
}


def mutate(data: bytes, suffix: str, chance: Chance) -> bytes:
    """Return a file with one to a few mutations that fit its suffix; at most four megabytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
        data = chance.choice(BY_SUFFIX.get(suffix, TEXT))(data, chance)[: 4 << 20]
    return data
