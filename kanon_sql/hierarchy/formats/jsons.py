"""JSON whose arrays and objects know the line they begin in; numbers stay as they are written."""

from __future__ import annotations

import json
import json.decoder
import json.scanner
from typing import Any

from kanon_sql.hierarchy.formats.rows import BrokenError, line_place


class Array(list[Any]):
    """An array, with the line where it begins."""

    line: int = 0


class Object(dict[str, Any]):
    """An object, with the line where it begins."""

    line: int = 0


class _Decoder(json.JSONDecoder):
    """Reads arrays and objects that know their line.

    The standard decoder's own functions read them; only its scanner in Python, not the one in C, asks for them.
    """

    def __init__(self, text: str) -> None:
        super().__init__(parse_float=str, parse_int=str, parse_constant=str)
        self._line_ends = [place for place, character in enumerate(text) if character == "\n"]
        # The parts of the standard decoder are public by name, but type checkers do not know them.
        decoder: Any = json.decoder
        scanner: Any = json.scanner
        self._array, self._object = decoder.JSONArray, decoder.JSONObject
        self.parse_array = self._located_array
        self.parse_object = self._located_object
        self.scan_once = scanner.py_make_scanner(self)

    def _located_array(self, text_and_end: tuple[str, int], scan_once: Any) -> tuple[Array, int]:  # noqa: ANN401 - the scanner
        items, end = self._array(text_and_end, scan_once)
        array = Array(items)
        array.line = self._line(text_and_end[1])
        return array, end

    def _located_object(self, text_and_end: tuple[str, int], *settings: Any) -> tuple[Object, int]:  # noqa: ANN401 - of the scanner
        strict, scan_once, _, _, memo = settings
        line = self._line(text_and_end[1])
        pairs, end = self._object(text_and_end, strict, scan_once, None, list, memo)
        found = Object(pairs)
        if len(found) < len(pairs):
            raise BrokenError(line_place(line), "an object has two entries of the same name. Keep one of them")
        found.line = line
        return found, end

    def _line(self, place: int) -> int:
        from bisect import bisect_left

        return bisect_left(self._line_ends, place) + 1


def parse_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text: None, bool, str (numbers too), ``Array`` or ``Object``.

    Raises:
        BrokenError: it is no JSON.
    """
    try:
        return _Decoder(text).decode(text)
    except json.JSONDecodeError as error:
        raise BrokenError(line_place(error.lineno), f"this is not JSON ({error.msg})") from None
    except RecursionError:
        raise BrokenError(None, "is JSON that is nested too deeply") from None
