"""Passwords in texts: what DuckDB says of a connection or of an address may hold them, and nobody is to read them."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

HIDDEN = "***"
_WORD = r"(?:pass(?:word|wd)?|pwd|secret|token|sig(?:nature)?|credential|key|auth)"
# As connection strings have them (password=..., "..." or '...') and as addresses do (&X-Amz-Signature=...).
_SETTING = re.compile(
    rf"""(?P<name>\b[\w-]*{_WORD}[\w-]*\s*=\s*)(?:''.*?''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s&"']+)""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?P<before>\b[\w+.-]{2,}:/{1,2}[^\s/:@\"']*):[^\s\"']+@")  # one slash: as a path has it
_SECRET_NAME = re.compile(rf"[\w-]*{_WORD}[\w-]*", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """Return a text with ``***`` in the place of what looks like a password, a token or a signature."""
    return _SETTING.sub(rf"\g<name>{HIDDEN}", without_address_passwords(text))


def without_address_passwords(text: str) -> str:
    """Return a text with ``***`` in the place of the password in every ``scheme://user:password@host``."""
    return _IN_ADDRESS.sub(rf"\g<before>:{HIDDEN}@", text)


def shown_address(address: str) -> str:
    """Return an address of the web with ``***`` for the settings in it that give access."""
    parts = urlsplit(address)
    settings = parse_qsl(parts.query, keep_blank_values=True)
    if not any(_SECRET_NAME.fullmatch(name) for name, _ in settings):
        return address
    shown = [(name, HIDDEN if _SECRET_NAME.fullmatch(name) else value) for name, value in settings]
    return urlunsplit(parts._replace(query=urlencode(shown, safe="*/:")))


def shown_url(url: str) -> str:
    """Return the URL of a database as it may be shown; also one whose password has signs that end other parts."""
    scheme, _, rest = url.partition("://")
    base, _, query = rest.partition("?")
    of_user, _, place = base.rpartition("@")
    if "@" in query:
        return f"{scheme}://..."  # what it means is anybody's guess
    user = of_user.partition(":")[0]
    shown = [part for part in query.split("&") if not part.lower().startswith(("password=", "sslpassword="))]
    query = "&".join(shown)
    return f"{scheme}://{f'{user}@' if user else ''}{place}{f'?{query}' if query else ''}"
