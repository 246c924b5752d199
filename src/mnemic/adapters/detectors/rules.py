"""The default secret detector, and detectors by name: `rules`, or an entry point of the group `mnemic.detectors` (a
callable without arguments that returns a `Detector`; Mnemic's own names win). `rules` finds formats of known issuers
(`tokens.toml`, read on first use), private keys, logins in URLs, and values after words like `password` unless they are
placeholders, code or prose. It misses secrets without a known format or announcing word, and split or disguised ones.
"""

from __future__ import annotations

import importlib.metadata
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import cast

from mnemic.errors import ConfigError
from mnemic.ports.models import Detector, DetectorCapabilities, SecretSpan
from mnemic.text.normalise import late_pattern, stored_pattern, stored_texts

_WORD = "[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Form:
    """A secret's format. If the expression has a group `secret`, only that is the secret."""

    kind: str
    needs: tuple[str, ...]
    expression: re.Pattern[str]
    judge: str = ""


@cache
def load_forms(name: str = "tokens") -> tuple[Form, ...]:
    """All formats of a file, in order: `tokens` (issued) or `spoken` (as people write them)."""
    text = resources.files(__package__ or "").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    compile_form = _compile_alone if name == "tokens" else _compile_spoken
    return tuple(
        Form(
            form["kind"],
            tuple(form["needs"].split()),
            compile_form(form["expression"].replace("{WORD}", _WORD)),
            form.get("judge", ""),
        )
        for form in tomllib.loads(text)["forms"]
    )


def _compile_alone(expression: str) -> re.Pattern[str]:
    return late_pattern(rf"(?<![A-Za-z0-9_]){expression}(?![A-Za-z0-9])")


def _compile_spoken(expression: str) -> re.Pattern[str]:
    """Compile a pattern whose numbers must not continue as a date, price, measure or count of digits."""
    return late_pattern(
        rf"(?i)(?<![a-z0-9_]){expression}(?![0-9a-z_]|[.,:/-]\d| ?(?:%|€|\$|£)|{stored_texts(__name__)['unit']})"
    )


KEY_BESIDE = late_pattern(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""The secret half of an AWS key pair. It has no prefix, so it is only searched near the other half."""


_pattern = partial(stored_pattern, __name__)
_STAND_IN = _pattern("stand_in")
_CODE = _pattern("code")
_MEASURE = _pattern("measure")
_UUID = late_pattern(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LINK = late_pattern(r"(?i)^(?:https?:|ftp:|www\.|[\w.+-]+@[\w-]+\.[a-z]{2,}\W?$)")
_PATH = late_pattern(r"^\.{0,2}/|^[A-Za-z]:\\|^~/")
_FEW_LETTERS = 5
"""A long value with fewer distinct characters is a mask, such as `xxxxxxxx`."""
# shorter values are mostly words; 80 characters suffice to see disorder and bound the time
_LEAST_KEY_CHARS, _JUDGED_CHARS = 12, 80
_LEAST_ENTROPY = 2.8
"""Bits per character: 16 random hexadecimal digits have about 3.2, words and numbered identifiers mostly less."""
_PATH_ENTROPY = 4.3
"""A value that looks like a path is one, unless its entropy is higher: a base64 key may start with a slash."""
# characters; a PIN has 4 digits. In prose 6, since short words abound. 21 digits or more are data
_LEAST_SETTING, _LEAST_SAID, _MOST_DIGITS = 4, 6, 20
_SYMBOLS = frozenset("!@#$%^&*+=?~")


@cache
def _stand_ins() -> frozenset[str]:
    return frozenset(stored_texts(__name__)["stand_ins"].split())


def is_stand_in(value: str) -> bool:
    """True for placeholders and masks, such as `your-api-key-here` or `****`."""
    is_mask = len(value) > 2 * _FEW_LETTERS and len(set(value)) < _FEW_LETTERS
    return is_mask or value.lower() in _stand_ins() or bool(_STAND_IN.search(value))


def is_mixed(value: str) -> bool:
    """True if a value has both letters and digits."""
    return any(c.isalpha() for c in value) and any(c.isdigit() for c in value)


def is_key(value: str, *, takes_uuid: bool) -> bool:
    """True if a value looks machine-generated: at least a dozen letters and digits in random order."""
    value = value[:_JUDGED_CHARS]
    if len(value) < _LEAST_KEY_CHARS or is_stand_in(value) or _CODE.search(value) or _LINK.search(value):
        return False
    if _UUID.match(value):
        return takes_uuid
    least = _PATH_ENTROPY if _PATH.search(value) else _LEAST_ENTROPY
    return is_mixed(value) and _entropy_bits(value) >= least


def is_password(value: str, *, is_quoted: bool, is_setting: bool) -> bool:
    """True if a value after a word for password may be one. `is_setting`: it fills a line or field such as
    `PASSWORD=…`, where any word counts. Elsewhere a plain word does not.
    """
    if len(value) < _LEAST_SETTING or is_stand_in(value) or any(e.search(value) for e in (_LINK, _PATH, _MEASURE)):
        return False
    if is_quoted:
        return is_mixed(value) or not _CODE.match(value)
    if value.isdigit():
        return is_setting or _LEAST_SAID <= len(value) <= _MOST_DIGITS
    if _CODE.search(value):
        return False
    inner = value.strip(".,;:!?()[]'\"*")
    return is_setting or (len(inner) >= _LEAST_SAID and (is_mixed(inner) or not _SYMBOLS.isdisjoint(inner)))


def _entropy_bits(value: str) -> float:
    """The Shannon entropy in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


PASSWORD, API_KEY, PRIVATE_KEY, AWS_SECRET = "password", "api-key", "private-key", "aws-secret-key"
BESIDE_CHARS = 400  # characters on either side of a key id: both halves are within a few lines

_HINT = _pattern("hint")
_TOLD = _pattern("told")
"""Must follow a hint within `_REACH_CHARS` characters. This dismisses most texts about passwords."""
_REACH_CHARS = 110  # characters; longer finds values that belong to another sentence
_LEAD = 16
"""Maximum length of a word for a secret before the part that `_HINT` finds."""
_LOOSE_KEYS = ("secret", "token", "credential", "credentials", "令牌")
_SET = _pattern("set")
_SAID = _pattern("said")
_CHANGED = late_pattern(r"(?i)(?<![a-z])(?:chang|set|reset|updat)[a-z]{0,4}(?![a-z])")
_ARGUMENT = _pattern("argument")
_LOGIN = _pattern("login")
_CURL = _pattern("curl")
_HEAD = late_pattern(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_FOOT = late_pattern(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BODY = _pattern("body")
_BASE64 = late_pattern(r"[A-Za-z0-9+/]")
_LEAST_BODY_CHARS = 40  # base64 characters: the shortest private key (Ed25519) has 64; fewer is an example
_RUN = late_pattern(r"[!-~]{16}")
"""Minimum length of an issued secret without a blank. Ordinary prose only has this in addresses."""
_WORDS_OF_LOGIN = frozenset(("password", "pass", "pwd", "pw", "passwd", "secret", "token", "p", "x", "user"))
_NEXT_FIELD = late_pattern(r"&(?=[\w-]{1,40}=)")
_FIELD_START = frozenset("?&;\n\r")


class RuleDetector:
    """Finds secrets by rules, from the text alone."""

    name = "rules"

    @property
    def capabilities(self) -> DetectorCapabilities:
        kinds = {
            *(form.kind for form in (*load_forms(), *load_forms("spoken"))),
            PASSWORD,
            API_KEY,
            PRIVATE_KEY,
            AWS_SECRET,
        }
        return DetectorCapabilities(kinds=tuple(sorted(kinds)), is_local=True)

    def find(self, text: str) -> list[SecretSpan]:
        lowered = text.lower()
        if len(lowered) != len(text):  # positions must agree; then upper-case words are not found
            lowered = text
        found = [*_find_announced(text, lowered), *_find_spoken(text, lowered)]
        if _RUN.search(text) is not None:
            found += _find_issued(text, lowered)
            if "private key" in lowered:
                found += _find_private_keys(text)
        if "://" in text:
            found += _find_logins(text, _LOGIN)
        if "curl" in lowered or "--user" in lowered:
            found += _find_logins(text, _CURL)
        return sorted(found)


def _find_issued(text: str, lowered: str) -> Iterator[SecretSpan]:
    for form in load_forms():
        if not any(need in lowered for need in form.needs):
            continue
        for match in form.expression.finditer(text):
            start, end = match.span("secret" if "secret" in form.expression.groupindex else 0)
            if is_stand_in(text[start:end]):
                continue
            yield SecretSpan(start, end, form.kind)
            if form.kind == "aws-access-key":
                yield from _find_key_pair(text, start, end)


def _find_spoken(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Passwords, PINs and codes as people write them to an assistant."""
    for form in load_forms("spoken"):
        if not any(need in lowered for need in form.needs):
            continue
        for match in form.expression.finditer(text):
            value = match["secret"] if form.judge == "number" else match["secret"].rstrip(".,;:?)]}'\"*`")
            if _JUDGES[form.judge](value):
                yield SecretSpan(match.start("secret"), match.start("secret") + len(value), form.kind)


def _is_strong(value: str) -> bool:
    """True for passwords, not names: digits or signs between letters, and at least three kinds of characters."""
    sorts = sum(
        (any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)), _has_symbol(value))
    )
    return sorts >= _LEAST_SORTS and _BETWEEN.search(value) is not None and _is_mixed_password(value)


def _is_mixed_password(value: str) -> bool:
    """True for a password that is not a word, whatever announces it."""
    return (is_mixed(value) or _has_symbol(value)) and is_password(value, is_quoted=False, is_setting=False)


def _has_symbol(value: str) -> bool:
    return not _SYMBOLS.isdisjoint(value)


_JUDGES: dict[str, Callable[[str], bool]] = {"number": bool, "mixed": _is_mixed_password, "strong": _is_strong}
_BETWEEN = late_pattern(r"[A-Za-z][0-9!@#$%^&*+=?~]{1,8}[A-Za-z]")
_LEAST_SORTS = 3
"""Lower case, upper case, digits and signs. `Office365` also has three, but nothing between its letters."""


def _find_key_pair(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    """The secret half of a key pair near its first half."""
    low = max(0, start - BESIDE_CHARS)
    for match in KEY_BESIDE.finditer(text, low, min(len(text), end + BESIDE_CHARS)):
        value = match.group()
        if is_mixed(value) and value != value.lower() and not is_stand_in(value):
            yield SecretSpan(*match.span(), AWS_SECRET)


def _find_private_keys(text: str) -> Iterator[SecretSpan]:
    """A whole armoured key. Without its end (a truncated log), as far as it looks like one."""
    for head in _HEAD.finditer(text):
        body = _BODY.match(text, head.end())
        end = body.end() if body else head.end()
        if len(_BASE64.findall(text[head.end() : end])) < _LEAST_BODY_CHARS:
            continue
        foot = _FOOT.match(text, end)
        end = foot.end() if foot else head.end() + len(text[head.end() : end].rstrip())
        yield SecretSpan(head.start(), end, PRIVATE_KEY)


def _find_logins(text: str, expression: re.Pattern[str]) -> Iterator[SecretSpan]:
    for match in expression.finditer(text):
        value = match.group("secret")
        if value.lower() not in _WORDS_OF_LOGIN and value[0] not in "$%{<[*" and not is_stand_in(value):
            yield SecretSpan(*match.span("secret"), PASSWORD)


def _find_announced(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Values after words for passwords and keys: settings, arguments, or in a sentence."""
    taken = 0
    for hint in _HINT.finditer(lowered):
        is_argument = hint.start() > 0 and lowered[hint.start() - 1] == "-"
        if not is_argument and not _TOLD.search(lowered, hint.start(), hint.end() + _REACH_CHARS):
            continue
        for start in _find_starts(text, hint.start()):
            if start >= taken:
                spans = list(_find_value_at(text, start))
                taken = max((span.end for span in spans), default=taken)
                yield from spans


def _find_value_at(text: str, start: int) -> Iterator[SecretSpan]:
    if match := _SET.match(text, start):
        yield from _set(text, match)
    if match := _SAID.match(text, start):
        yield from _find_said(text, match)
    if text[start] == "-" and (match := _ARGUMENT.match(text, start)):
        yield from _judge_value(match, "bare", len(match["bare"]), is_setting=True)


def _find_starts(text: str, hint: int) -> Iterator[int]:
    """Where a word for a secret may start whose hint is at `hint`: there, or at the word before."""
    for place in range(max(0, hint - _LEAD), hint):
        if text[place] != " " and (place == 0 or not text[place - 1].isalnum()):
            yield place
    yield hint


def _find_said(text: str, match: re.Match[str]) -> Iterator[SecretSpan]:
    before = text[max(0, match.start() - 40) : match.start()]
    if match["to"] and not (_CHANGED.search(before) or _CHANGED.search(match["between"])):
        return
    group = "quoted" if match["quoted"] else "bare"
    value = match[group] if match["quoted"] else match[group].rstrip(".,;:!?)]}'\"*")
    yield from _judge_value(match, group, len(value), is_setting=False)


def _judge_value(match: re.Match[str], group: str, length: int, *, is_setting: bool) -> Iterator[SecretSpan]:
    """The first `length` characters of a group, if they may be the announced secret."""
    value, start = match[group][:length], match.start(group)
    if match["pass"]:
        if is_password(value, is_quoted=group == "quoted", is_setting=is_setting):
            yield SecretSpan(start, start + length, PASSWORD)
        return
    word = match["key"].lower()
    if is_key(value, takes_uuid=word not in _LOOSE_KEYS):
        yield SecretSpan(
            start, start + length, AWS_SECRET if word.startswith("secret") and "access" in word else API_KEY
        )


def _set(text: str, match: re.Match[str]) -> Iterator[SecretSpan]:
    group = "quoted" if match["quoted"] else "bare"
    value = match[group]
    if group == "bare":
        value = _NEXT_FIELD.split(value, maxsplit=1)[0].rstrip(".,;:!?)]}*|")
    is_setting = group == "bare" and _is_setting(text, match, match.start(group) + len(value))
    yield from _judge_value(match, group, len(value), is_setting=is_setting)


def _is_setting(text: str, match: re.Match[str], end: int) -> bool:
    """True if name and value fill a line, or a field of a URL or connection string."""
    if match["sign"] not in ("=", ":") or (match["sign"] == ":" and match["close"]):
        return False
    if end < len(text) and text[end] not in _FIELD_START:
        return False
    first = match.start()
    while first > 0 and (text[first - 1].isalnum() or text[first - 1] in "_.-"):
        first -= 1
    before = text[max(0, first - 8) : first].lstrip(" \t") if first else ""
    is_field = first == 0 or text[first - 1] in _FIELD_START or before in ("export ", "set ", "ENV ")
    return is_field and (match["sign"] == "=" or match["bare"] != match["bare"].capitalize() or is_mixed(match["bare"]))


_: type[Detector] = RuleDetector


GROUP = "mnemic.detectors"
_OWN: dict[str, Callable[[], Detector]] = {"rules": RuleDetector}


def open_detector(name: str) -> Detector:
    """Open a detector by name. Raises `ConfigError` if it is unknown or cannot be loaded."""
    if own := _OWN.get(name):
        return own()
    for point in importlib.metadata.entry_points(group=GROUP, name=name):
        try:
            return cast("Callable[[], Detector]", point.load())()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"cannot load detector {name!r} from {point.value}: {error}") from error
    raise ConfigError(f"unknown detector {name!r}; use one of {', '.join(detector_names())}")


def detector_names() -> list[str]:
    """Every name that `open_detector` knows, in order, including those of other packages."""
    return sorted({*_OWN, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})
