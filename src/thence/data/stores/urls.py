"""URLs of stores: which texts are URLs, and how a URL is shown without its credentials.

A source that is a server is named by a URL everywhere: in Python, in ``[input]`` and on the command line. User name and
password may be in the URL; they are for the connection only, and no message, log or run folder has them. This module
opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

SECRET = "***"
"""What stands in a message for what must not be shown."""

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://")
# A user name and a password in a text that holds a URL; a password may hold any character but a space and a slash.
_USER = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+://)[^\s/?#]*@")
_KEYS = r"password|passwd|pwd|token|secret|api[_-]?key|access[_-]?key|sslpassword|passfile"
_PAIR = re.compile(rf"(?P<key>\b(?:{_KEYS})\s*=\s*)(?P<value>'[^']*'|[^\s&;'\"]+)", re.IGNORECASE)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?(,[^:]*(:\d*)?)*")
_SECRET_KEY = re.compile(rf"(?:.*[_-])?(?:{_KEYS})", re.IGNORECASE)


def is_url(source: object) -> bool:
    """Return whether a source is the URL of a store, not a path.

    Args:
        source: Whatever names a source.

    Examples:
        >>> is_url("bolt://localhost:7687"), is_url("data/graph.ttl"), is_url("C://data"), is_url(3)
        (True, False, False, False)
    """
    return scheme_of(source) != ""


def scheme_of(source: object) -> str:
    """Return the scheme of a URL in lower case; an empty string for a path or another object.

    Args:
        source: Whatever names a source.

    Examples:
        >>> scheme_of("SPARQL+https://example.org/query"), scheme_of("graph.ttl")
        ('sparql+https', '')
    """
    found = _SCHEME.match(source) if isinstance(source, str) else None
    return found["scheme"].lower() if found else ""


def without_credentials(url: str) -> str:
    """Return a URL without user name and password, as it is recorded in a run folder; a path is returned as it is.

    Args:
        url: A URL or a path.

    Examples:
        >>> without_credentials("bolt://neo4j:s3cret@localhost:7687")
        'bolt://localhost:7687'
        >>> without_credentials("postgresql://db/plant?sslmode=require&password=s3cret")
        'postgresql://db/plant?sslmode=require'
    """
    if not is_url(url):
        return url
    scheme, rest = url.split("://", 1)
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    before = rest.partition("?")[0]
    # The last @ ends the user part: a password may hold any sign that is not escaped, and it is better to lose a part
    # of a path than to show it.
    if "@" in host or not _HOST.fullmatch(host) or (":" in host and "@" in before):
        rest = rest.rpartition("@")[2]
    place, mark, query = rest.partition("?")
    kept = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if not _SECRET_KEY.fullmatch(key)]
    same = len(kept) == len(parse_qsl(query, keep_blank_values=True))
    query = query if same else urlencode(kept, quote_via=quote)
    return f"{scheme}://{place}" + (f"{mark}{query}" if query else "")


def credentials_of(url: str) -> tuple[str, str, str]:
    """Return a URL without its user part, the user name and the password; what is not given is an empty string.

    Args:
        url: A URL.

    Examples:
        >>> credentials_of("bolt://neo4j:p%40ss@localhost:7687/plant")
        ('bolt://localhost:7687/plant', 'neo4j', 'p@ss')
    """
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    return urlunsplit(parts._replace(netloc=host)), unquote(name), unquote(password)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text, such as the message of a driver, without the credentials of URLs and the given secrets.

    Args:
        text: The text.
        secrets: Passwords and tokens that must not be in it.

    Examples:
        >>> mask("cannot reach bolt://neo4j:s3cret@localhost:7687 as s3cret", ["s3cret"])
        'cannot reach bolt://***@localhost:7687 as ***'
        >>> mask("host=db password=s3cret user=me")
        'host=db password=*** user=me'
    """
    for secret in sorted({one for one in secrets if one}, key=len, reverse=True):
        for spelling in {secret, quote(secret, safe=""), repr(secret)[1:-1]}:
            text = text.replace(spelling, SECRET)
    text = _USER.sub(rf"\g<scheme>{SECRET}@", text)
    return _PAIR.sub(rf"\g<key>{SECRET}", text)
