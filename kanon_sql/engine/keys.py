"""Keys of pseudonyms and passwords: neither is ever written or shown.

A key is read from a file, or drawn for one release. Passwords are removed from DuckDB's messages about connections and
addresses, and from displayed addresses.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.files import same_file
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LEAST_BYTES = 16
_BLOCK = 64  # block size of SHA-256 in bytes, to which HMAC pads its key
_INNER, _OUTER = 0x36, 0x5C
_FIRST = bytes([0, 0, 0, 1])  # the counter of NIST SP 800-56C, 4.1: one hash is enough


@dataclass(frozen=True)
class Secret:
    """Bytes that are bound to a statement and never appear in its text, a log or a message."""

    value: bytes = field(repr=False)


def revealed(value: Any) -> Any:  # noqa: ANN401 - any value that a statement is bound to
    """Return the bytes of a secret; other values unchanged."""
    return value.value if isinstance(value, Secret) else value


def loggable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if not isinstance(value, Secret)}


@dataclass(frozen=True)
class Key:
    """The key of HMAC-SHA256 in the form a statement needs: H(outer || H(inner || message)).

    ``inner`` and ``outer`` are the key, padded to a block, with each byte XORed with 0x36 and with 0x5C (RFC 2104).
    """

    inner: Secret
    outer: Secret
    drawn: bool  # for one release alone; otherwise read from a file

    def of_domain(self, domain: str) -> Secret:
        """Return the key of a domain as the first argument of SHA-256: a counter, and HMAC-SHA256 of its name."""
        inner = hashlib.sha256(self.inner.value + domain.encode()).digest()
        return Secret(_FIRST + hashlib.sha256(self.outer.value + inner).digest())

    @property
    def origin(self) -> str:
        """The origin of the key, for the summary of a release."""
        return "drawn" if self.drawn else "key file"


def draw_key() -> Key:
    return padded(secrets.token_bytes(32), drawn=True)


def key_from(file: Path | None) -> Key:
    """Return the key in a file; without a file, draw one."""
    return draw_key() if file is None else read_key(file)


def read_key(path: Path) -> Key:
    """Return the key in a file: all its bytes, including a line end."""
    if not path.exists():
        raise SourceError(f"There is no key file {path}.")
    if not path.is_file():
        raise SourceError(f"{path} is not a file: say with --key-file which file holds the key.")
    try:
        key = path.read_bytes()
    except OSError as error:
        raise SourceError(f"The key file {path} cannot be read: {error.strerror}.") from None
    if len(key) < LEAST_BYTES:
        raise UsageError(
            f"The key file {path} has {len(key)} bytes; a key has {LEAST_BYTES} at least, drawn at random "
            "(python -c 'import secrets; print(secrets.token_hex(32))')."
        )
    return padded(key, drawn=False)


def padded(key: bytes, *, drawn: bool) -> Key:
    """Return a key in HMAC's form: hashed if it is longer than a block, then padded with zeros."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner, outer = (Secret(bytes(byte ^ mask for byte in block)) for mask in (_INNER, _OUTER))
    return Key(inner, outer, drawn)


def require_apart(file: Path | None, others: Iterable[Path | None], what: str, own: str = "the key file") -> None:
    """Raise if a file, the key file or the policy, is also another file of the run."""
    if file is not None and any(other is not None and same_file(file, other) for other in others):
        raise UsageError(f"{file} is {own} and cannot be {what} too.")


HIDDEN = "***"
_WORD = r"(?:pass(?:word|wd)?|pwd|secret|token|sig(?:nature)?|credential|key|auth)"
# In connection strings (password=..., "..." or '...') and in addresses (&X-Amz-Signature=...).
_SETTING = re.compile(
    rf"""(?P<name>\b[\w-]*{_WORD}[\w-]*\s*=\s*)(?:''.*?''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s&"']+)""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?P<before>\b[\w+.-]{2,}:/{1,2}[^\s/:@\"']*):[^\s\"']+@")  # one slash: as in a path


def without_passwords(text: str) -> str:
    """Replace what looks like a password, a token or a signature in a text by ``***``."""
    return _SETTING.sub(rf"\g<name>{HIDDEN}", without_address_passwords(text))


def without_address_passwords(text: str) -> str:
    """Replace the password in every ``scheme://user:password@host`` of a text by ``***``."""
    return _IN_ADDRESS.sub(rf"\g<before>:{HIDDEN}@", text)


def same_database(one: str, other: str) -> bool:
    """Return True if two URLs lead to the same database, whichever user connects; False if unknown."""
    places = [shown_url(url).partition("://")[2].rpartition("@")[2] for url in (one, other)]
    _, _, database = places[0].partition("?")[0].partition("/")  # by default, the database has the user's name
    return one == other or (places[0] == places[1] and bool(database))


_OF_SPARK = re.compile(r"(?P<scheme>sc|spark)://(?P<host>[^/;?]*)")


def shown_url(url: str) -> str:
    """Return the URL of a database without secrets, even if its password contains separators of other parts.

    Tokens and settings of Spark are left out.
    """
    if url.startswith(("sc:", "spark:")):
        found = _OF_SPARK.match(url)
        return url.partition("?")[0] if found is None else f"{found['scheme']}://{found['host'].rpartition('@')[2]}"
    scheme, _, rest = url.partition("://")
    base, _, query = rest.partition("?")
    of_user, _, place = base.rpartition("@")
    if "@" in query:
        return f"{scheme}://..."  # ambiguous
    user = of_user.partition(":")[0]
    shown = [part for part in query.split("&") if not part.lower().startswith(("password=", "sslpassword="))]
    query = "&".join(shown)
    return f"{scheme}://{f'{user}@' if user else ''}{place}{f'?{query}' if query else ''}"
