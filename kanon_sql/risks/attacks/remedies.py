"""What would stop an attack, as the option of ``kanon anonymize`` and as the line of a kanon.toml."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from kanon_sql.risks.attacks.background import Background
from kanon_sql.risks.attacks.homogeneity import Homogeneity
from kanon_sql.risks.attacks.linkage import Linkage

if TYPE_CHECKING:
    from kanon_sql.risks.attacks.base import Attack

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def remedy(attack: Attack, *, only_sensitive: bool) -> str:
    """Return what would stop an attack.

    Args:
        attack: the attack.
        only_sensitive: whether its column is the only one that is called sensitive.
    """
    match attack:
        case Homogeneity() if attack.confidence == 1:
            return _diversity(attack.column, 2, only_sensitive=only_sensitive)
        case Background() if attack.values >= max(attack.rows_certain) + 2:
            return _diversity(attack.column, max(attack.rows_certain) + 2, only_sensitive=only_sensitive)
        case Linkage():
            in_file = f"k = {attack.k} under [privacy], and the columns in quasi_identifiers under [columns]"
            return f"{attack.stopped_by} (in kanon.toml: {in_file})"
        case _:
            return attack.stopped_by


def _diversity(column: str, values: int, *, only_sensitive: bool) -> str:
    option, line = f"--l {values}", f"l = {values}"
    if not only_sensitive:
        key = column if _PLAIN.fullmatch(column) else json.dumps(column, ensure_ascii=False)
        option, line = f"--l {shlex.quote(f'{column}={values}')}", f"l = {{ {key} = {values} }}"
    return f"{option} or more (in kanon.toml: {line} under [privacy])"
