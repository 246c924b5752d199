"""Text that is hidden in a plain encoding: base64, hexadecimal, binary, escapes, rot13, written backwards.

Answers for finding and decoding it, one level deep; what is done about it is decided in `sanitise`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import urllib.parse
from collections.abc import Callable, Iterator

from mnemic.text.skeleton import View


def decoded(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Each encoded passage that decodes to readable text: its half-open span, and that text (never longer)."""
    for sign, expression, decode in _ENCODINGS:
        for match in expression.finditer(text) if sign in text else ():
            readable = decode(match[0]) if len(match[0]) >= MIN_CHARACTERS else ""
            if readable and sum(map(str.isprintable, readable)) >= READABLE_SHARE * len(readable):
                yield match.span(), readable


def mirrored(view: View) -> Iterator[View]:
    """The view in rot13, and backwards, each only where telling words of an order show in it."""
    for turned, anchors in ((_rot13(view), _ROT13_ANCHORS), (_backwards(view), _BACKWARD_ANCHORS)):
        if any(anchor in view.text for anchor in anchors):
            yield turned


READABLE_SHARE = 0.9
"""Share of printable characters below which decoded bytes are no text."""

MIN_CHARACTERS = 20
"""Shorter passages are words, numbers and names, and hold no order."""

_ANCHORS = ("ignore", "instruct", "prompt", "forget", "disregard", "reveal", "system")
_ROT13_ANCHORS = tuple(codecs.encode(anchor, "rot13") for anchor in _ANCHORS)
_BACKWARD_ANCHORS = tuple(anchor[::-1] for anchor in _ANCHORS)


def _rot13(view: View) -> View:
    return View(codecs.encode(view.text, "rot13"), view.origins)


def _backwards(view: View) -> View:
    return View(view.text[::-1], view.origins[::-1])


def _utf8(raw: bytes) -> str:
    return raw.decode("utf-8", "replace") if raw.count(0) == 0 else ""


def _base64(encoded: str) -> str:
    body = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _utf8(base64.b64decode(body[: len(body) // 4 * 4]))
    except binascii.Error:
        return ""


def _hexadecimal(encoded: str) -> str:
    return _utf8(bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", encoded.replace("0x", ""))))


def _binary(encoded: str) -> str:
    digits = re.sub(r"\s", "", encoded)
    return _utf8(bytes(int(digits[i : i + 8], 2) for i in range(0, len(digits), 8)))


def _escapes(encoded: str) -> str:
    return "".join(chr(int(code, 16)) for code in re.findall(r"[0-9a-fA-F]{4}", encoded))


_ENCODINGS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("", re.compile(r"[A-Za-z0-9+/_-]++={0,2}"), _base64),
    ("", re.compile(r"(?<![0-9a-fA-F])(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ :,]?){10,}+"), _hexadecimal),
    ("01", re.compile(r"(?<![01])(?:[01]{8}\s?){8,}+"), _binary),
    ("\\u", re.compile(r"(?:\\u[0-9a-fA-F]{4}\s?){6,}+"), _escapes),
    ("&#", re.compile(r"(?:&#x?[0-9a-fA-F]{2,6};){6,}+"), html.unescape),
    ("%", re.compile(r"(?:[\w.~-]{0,8}%[0-9a-fA-F]{2}){3,}+[\w.~-]{0,20}"), urllib.parse.unquote),
)
"""Of each encoding a sign without which it is not there, what it looks like, and how it is read."""
