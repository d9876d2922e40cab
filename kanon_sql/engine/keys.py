"""The key of pseudonyms: read from a file, or drawn for one release; never written anywhere, and never shown."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

LEAST_BYTES = 16
_BLOCK = 64  # bytes that SHA-256 works on at once, to which HMAC pads its key
_INNER, _OUTER = 0x36, 0x5C


@dataclass(frozen=True)
class Secret:
    """Bytes that are bound to a statement and are in no text: not in its own, in no log and in no message."""

    value: bytes = field(repr=False)


def revealed(value: Any) -> Any:  # noqa: ANN401 - any value that a statement is bound to
    """Return what a statement is bound to: the bytes of a secret, or the value itself."""
    return value.value if isinstance(value, Secret) else value


def shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a statement but for secret ones."""
    return {name: value for name, value in parameters.items() if not isinstance(value, Secret)}


@dataclass(frozen=True)
class Key:
    """The key of HMAC-SHA256 as a statement needs it: H(outer || H(inner || message)).

    Attributes:
        inner, outer: the key, padded to a block, with each byte XORed with 0x36 and with 0x5C (RFC 2104).
        drawn: whether it was drawn for one release alone, rather than read from a file.
    """

    inner: Secret
    outer: Secret
    drawn: bool

    @property
    def origin(self) -> str:
        """Where it came from, as the summary of a release says."""
        return "drawn" if self.drawn else "key file"


def draw_key() -> Key:
    """Return a key that nobody else has, and that nobody will have after this release."""
    return padded(secrets.token_bytes(32), drawn=True)


def read_key(path: Path) -> Key:
    """Return the key that a file holds: all its bytes, a line end among them.

    Raises:
        SourceError: there is no such file, it is no regular file, or it cannot be read.
        UsageError: it is too short to be a key.
    """
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
    """Return a key as HMAC uses it: hashed if it is longer than a block, then padded with zeros."""
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner, outer = (Secret(bytes(byte ^ mask for byte in block)) for mask in (_INNER, _OUTER))
    return Key(inner, outer, drawn)


def require_apart(key_file: Path | None, others: Iterable[Path | None], what: str) -> None:
    """Raise if the key file is also something else.

    Args:
        key_file: the key file, if there is one.
        others: files that it must not be.
        what: they are.

    Raises:
        UsageError: it is one of them.
    """
    if key_file is not None and any(other is not None and _same_file(key_file, other) for other in others):
        raise UsageError(f"{key_file} is the key file and cannot be {what} too.")


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return one.resolve() == other.resolve()
