"""Folded views of a text that detectors of injection search, and the wordings that address the model.

Folding undoes width, case, accents, look-alike letters, invisible characters, white space, spaced-out letters, digits
for letters and plain encodings. The wordings are data, in `injection.toml`; `sanitise` finds and replaces them.

Sources are regular expressions over folded text with four abbreviations:

- a blank: one to four characters that are neither letters, digits nor sentence ends;
- `~`: any ending of a word, up to 12 letters; `<3>`: up to three words, each with its blank;
- `{3}`: up to three characters of any kind, for scripts without blanks.

All repetition is bounded, so the time is linear in the length of the text. `needs` are folded literals of which a text
must hold at least one from every group: most texts are done after these.
"""

import base64
import binascii
import codecs
import html
import re
import tomllib
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import Any, Literal, cast

from mnemic.text.normalise import late_pattern, visible

REDACTED = "[REDACTED]"
"""What stands in place of a redacted passage; folded away, so that it cannot keep the parts of an order apart."""

MAX_FOLD_CHARACTERS = 4
"""A character whose folded form is longer stays as it is: no text grows beyond this factor."""

# Capitals and small letters of Cyrillic, Greek and other alphabets that are drawn like a Latin letter.
_LOOK_ALIKES = str.maketrans(
    "аеорсухкмтвіїјѕԁһԛԝαοινρκτυεχɑɡɩıօսոցհɪʀʏАЕОРСУХКМТВНнІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxkmtbiijsdhqwaoivpktuexagiiounghiryaeopcyxkmtbhhijsabezhikmnoptyx",
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－─━⸺⸻➖╌╍┄┅"), "-")
_QUOTES = dict.fromkeys(map(ord, "’‘‛ʼ´`"), "'")
_LEET = str.maketrans("013457@$", "oieastas")
_BLANKS = re.compile(r"\s\s|[\t\v\f\r\x1c-\x1f\x00-\x08\x0e-\x1b\x7f]")
_SPACED_OUT = re.compile(r"(?<![^\W_])[^\W_](?:[ \-_.*|/+,~]{1,3}[^\W_](?![^\W_])){4,}")
_RUN = re.compile(r"[\x00-\x20\x7f]+")
_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e")
_SIGNED = re.compile(r"(?<![\w@$])(?=[\w@$]*[013457@$])[\w@$]+")


@dataclass(frozen=True, slots=True)
class View:
    """A folded text; `origins[i]` is the index, in the text it was made from, of what its character `i` stands for."""

    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span of the original text behind the half-open, not empty span of this view."""
        first, last = sorted((self.origins[start], self.origins[end - 1]))
        return first, last + 1


def fold(text: str) -> View:
    """The text in small unaccented letters, look-alikes as Latin letters, without invisible characters.

    A run of white space or control characters is one line feed if it holds a line break, else one blank. `[REDACTED]`
    counts as blanks. No string raises; at most `MAX_FOLD_CHARACTERS` times as long as the text.
    """
    text = text.replace(REDACTED, " " * len(REDACTED))
    if text.isascii() and not _BLANKS.search(text):
        return View(text.lower().replace("`", "'"), range(len(text)))
    return _fold_ascii(text) if text.isascii() else _fold_each(text)


def _fold_ascii(text: str) -> View:
    """As `_fold_each`, for a text without other characters: only runs of blanks take work."""
    pieces: list[str] = []
    origins: list[int] = []
    last = 0
    for run in _RUN.finditer(text):
        pieces += [text[last : run.start()], " " if _BREAKS.isdisjoint(run[0]) else "\n"]
        origins.extend(range(last, run.start() + 1))
        last = run.end()
    pieces.append(text[last:])
    origins.extend(range(last, len(text)))
    return View("".join(pieces).lower().replace("`", "'"), origins)


def _fold_each(text: str) -> View:
    folded: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(text):
        for piece in _fold_character(character):
            if piece in " \n" and folded and folded[-1] in " \n":
                if piece == "\n":
                    folded[-1] = piece
                continue
            folded.append(piece)
            origins.append(index)
    return View("".join(folded), origins)


def fold_pattern(source: str) -> str:
    """The source of a regular expression with its literal characters folded as `fold` folds a text.

    Inside character classes only characters whose folded form is one character may stand.
    """
    return "".join(c if c.isascii() else _fold_character(c) for c in source)


def gathered(view: View) -> View | None:
    """The view with spaced-out letters ("i g n o r e") put together; None where there are none.

    At least five single letters in a row count; blanks between spaced-out words are lost with them.
    """
    pieces: list[str] = []
    origins: list[int] = []
    last = 0
    for match in _SPACED_OUT.finditer(view.text):
        pieces.append(view.text[last : match.start()])
        origins.extend(view.origins[last : match.start()])
        for index in range(match.start(), match.end()):
            if view.text[index].isalnum():
                pieces.append(view.text[index])
                origins.append(view.origins[index])
        last = match.end()
    if not last:
        return None
    pieces.append(view.text[last:])
    origins.extend(view.origins[last:])
    return View("".join(pieces), origins)


def unleeted(view: View) -> tuple[View, list[tuple[int, int]]] | None:
    """The view with digits and signs inside words read as letters ("1gn0r3"), and the spans of these words, which stay
    as long; None where no word holds any.
    """
    pieces: list[str] = []
    words: list[tuple[int, int]] = []
    last = 0
    for match in _SIGNED.finditer(view.text):
        if any(map(str.isalpha, match[0])):
            pieces += [view.text[last : match.start()], match[0].translate(_LEET)]
            words.append(match.span())
            last = match.end()
    if not words:
        return None
    return View("".join([*pieces, view.text[last:]]), view.origins), words


@lru_cache(maxsize=1 << 16)
def _fold_character(character: str) -> str:
    if character in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if character.isspace() or unicodedata.category(character) in ("Cc", "Cs"):
        return " "
    if not visible(character):
        return ""
    plain = character.translate(_DASHES).translate(_QUOTES).translate(_LOOK_ALIKES)
    decomposed = unicodedata.normalize("NFKD", plain)
    # Marks of scripts that cannot be read without them (Indic vowels, Hangul, kana) go too: patterns lose the same.
    bare = "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_DASHES).translate(_LOOK_ALIKES)
    folded = bare.casefold()
    if len(folded) > MAX_FOLD_CHARACTERS:
        return character
    return " " if folded.isspace() else folded


def decoded(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Each encoded passage that decodes to readable text: its half-open span, and that text (never longer)."""
    for sign, expression, decode in _ENCODINGS:
        for match in expression.finditer(text) if sign in text else ():
            readable = decode(match[0]) if len(match[0]) >= MIN_CHARACTERS else ""
            if readable and sum(map(str.isprintable, readable)) >= READABLE_SHARE * len(readable):
                yield match.span(), readable


def mirrored(view: View) -> Iterator[View]:
    """The view in rot13, and backwards, each only where telling words of an order show in it."""
    rot13 = View(codecs.encode(view.text, "rot13"), view.origins)
    backwards = View(view.text[::-1], view.origins[::-1])
    for turned, anchors in ((rot13, _ROT13_ANCHORS), (backwards, _BACKWARD_ANCHORS)):
        if any(anchor in view.text for anchor in anchors):
            yield turned


READABLE_SHARE = 0.9
"""Share of printable characters below which decoded bytes are no text."""

MIN_CHARACTERS = 20
"""Shorter passages are words, numbers and names, and hold no order."""

_ANCHORS = ("ignore", "instruct", "prompt", "forget", "disregard", "reveal", "system")
_ROT13_ANCHORS = tuple(codecs.encode(anchor, "rot13") for anchor in _ANCHORS)
_BACKWARD_ANCHORS = tuple(anchor[::-1] for anchor in _ANCHORS)


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


Severity = Literal["cue", "high"]
Address = Literal["any", "unreported", "order", "role"]
"""What the rest of the sentence must be: anything, no report about others, an order, an order to be somebody else."""

GAP = r"(?:(?:(?![.!?])[\W_]){1,4})"
_GROUP = re.compile(r"\([^()]*\)\??|\[[^\]]*\]\??")
_OPTIONAL = re.compile(r".\?")
_WORD = re.compile(r"[^\W_]+")
_ABBREVIATION = re.compile(r" |~|<(\d)>|\{(\d+)\}")


@dataclass(frozen=True)
class Pattern:
    """One family of wordings. A `cue` counts only in company; `address` says what its sentence must be like.

    The group `hit` of the expression, where it has one, is the passage; else the whole match is. `loose` is the same
    expression for text whose blanks are lost. `starts_word`: a match of `expression` counts only at the beginning of a
    word; kept apart because an expression that begins with letters is found far faster than one with a border.
    Expressions are compiled when they are first needed, which for most of them is never.
    """

    name: str
    severity: Severity
    source: str
    starts_word: bool
    needs: tuple[frozenset[str], ...]
    address: Address

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The source over folded text."""
        source = self.source.removeprefix(r"\b") if self.starts_word else self.source
        return re.compile(fold_pattern(_expand(source, GAP, r"(?:[^\W_]{1,24}" + GAP + "){0,%s}?")))

    @cached_property
    def loose(self) -> re.Pattern[str]:
        """The source over folded text without blanks."""
        source = self.source.replace(r"\b", "")
        return re.compile(fold_pattern(_expand(source, GAP.replace("{1,", "{0,"), r"[^\W_]{0,%s0}?")))


def wording(name: str, source: str, *needs: str, severity: Severity = "high", address: Address = "any") -> Pattern:
    """A pattern from a source in the notation of this module; `needs` are groups of literals, joined by "|"."""
    return Pattern(
        name=name,
        severity=severity,
        source=source,
        starts_word=source.startswith(r"\b") and len(_split(source)) == 1,
        needs=tuple(frozenset(fold_pattern(literal) for literal in group.split("|")) for group in needs),
        address=address,
    )


def _expand(source: str, gap: str, words: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[0] == " ":
            return gap
        if match[0] == "~":
            return r"[^\W_]{0,12}"
        return words % match[1] if match[1] else rf"[^\n]{{0,{match[2]}}}?"

    return _ABBREVIATION.sub(replacement, source)


def literals(alternatives: str) -> str:
    """A group of `needs`: for each alternative of a source a literal that it cannot do without, joined by "|"."""
    return "|".join(sorted(set(_required(alternatives))))


def _required(alternatives: str) -> Iterator[str]:
    for alternative in _split(alternatives):
        outside = alternative
        while (without := _GROUP.sub("\0", outside)) != outside:
            outside = without
        words = _WORD.findall(_OPTIONAL.sub("\0", outside))
        group = re.match(r"\(\?:((?:[^()]|\([^()]*\))*)\)(?!\?)", alternative)
        if words:
            yield max(words, key=len)
        elif group:
            yield from _required(group[1])
        else:
            yield ""


def _split(alternatives: str) -> list[str]:
    depth, parts = 0, [""]
    for character in alternatives:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


@cache
def _load_data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__ or "").joinpath("injection.toml").read_text(encoding="utf-8"))


@cache
def load_wordings() -> tuple[Pattern, ...]:
    """Every wording that counts, in the order in which they are looked for. Read when a text is first looked at."""
    data = _load_data()
    parts = {name: _join(source) for name, source in data["parts"].items()}
    orders = [order for each in data["languages"] for order in _put_together({k: _join(v) for k, v in each.items()})]
    return (*orders, *(_read_wording(each, parts) for each in data["wordings"]))


def _join(lines: Any) -> Any:
    """A source, which may stand on several lines."""
    return "".join(cast("list[str]", lines)) if isinstance(lines, list) else lines


def _read_wording(fields: Mapping[str, Any], parts: Mapping[str, str]) -> Pattern:
    source = _PART.sub(lambda match: parts[match[1]], _join(fields["source"]))
    return wording(
        fields["name"],
        source,
        *fields.get("needs", ()),
        severity=fields.get("severity", "high"),
        address=fields.get("address", "any"),
    )


def _put_together(words: Mapping[str, Any]) -> Iterator[Pattern]:
    """Every order of a language that it has words for: to drop instructions, to reveal the prompt, to be another."""
    code, fill, edge = words["code"], words.get("fill", "<4>"), words.get("edge", r"\b")
    blank = " " if fill.startswith("<") else ""
    drop, prior, noun = (f"{edge}(?:{words[name]}){edge}" for name in ("drop", "prior", "noun"))
    named = f"(?:{prior}{blank}{fill}{noun}(?:{blank}{prior})?|{noun}{blank}{fill}{prior})"
    source = f"{drop}{blank}{fill}{named}"
    verb_last = f"{named}{'~' if blank else '{6}'}{blank}{fill}(?:{words['drop']})"
    if words.get("has_both_orders"):
        source = f"{source}|{verb_last}"
    elif words.get("is_verb_last"):
        source = verb_last
    needs = literals(words["drop"]), literals(words["noun"])
    yield wording(f"drop-instructions-{code}", source, *needs, address="unreported")
    if words.get("reveal"):  # verb and secret, in the order in which the fields hold them
        reveal, hidden = (f"{edge}(?:{words[name]})" for name in ("reveal", "hidden"))
        source = f"{reveal}{edge}{blank}{fill}{hidden}"
        yield wording(f"reveal-prompt-{code}", source, literals(words["reveal"]), literals(words["hidden"]))
    if words.get("now"):
        now, freed = (f"{edge}(?:{words[name]}){edge}" for name in ("now", "freed"))
        source = f"{now}{blank}{fill}{fill}{freed}"
        yield wording(f"new-role-{code}", source, literals(words["now"]), literals(words["freed"]))


_PART = re.compile(r"@(\w+)@")

MARKERS = late_pattern(
    r"(?<![^\W_])(?:begin|end)[\W_]{0,6}(?:of[\W_]{0,6})?(?:the[\W_]{0,6})?"
    r"(?:(?:user|stored|retrieved|recalled|session|agent|organi[sz]ation)[\W_]{0,6})?"
    r"(?:facts?|documents?|messages?|conversations?|memor(?:y|ies)|profile|history|context|working[\W_]{0,6}memory)(?![^\W_])"
)
"""The words inside the markers of our blocks, over folded text; whether ruling surrounds them is checked in code."""

REACH_CHARACTERS = 100
"""How far before and after a passage its sentence is looked at."""

_SENTENCE_END = re.compile(r"[.!?;:\n\"()\[\]{}<>|•]")
_CLAUSE_END = re.compile(r" ?[.!?;:,。、\n\"()\[\]{}<>|•] ?")


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_join(_load_data()["words"][name]).split())


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_join(_load_data()["patterns"][name]))


def is_own_wish(clause: str, rest: str | None = None) -> bool:
    """Whether a folded clause says what its speaker wants to do himself ("I want to forget everything"), which is no
    order. `rest`: what follows, if the clause ends before its verb. "We need to ignore all instructions" is none.
    """
    whole, cut, you = _load_wishes()
    told = whole.match(clause) if rest is None else cut.search(clause)
    about = clause if rest is None else rest
    return told is not None and you.search(clause) is None and _pattern("rules of a model").search(about) is None


@cache
def _load_wishes() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    wish, you = (fold_pattern(_expand(_join(source), " ", "")) for source in _load_data()["speaker"].values())
    whole = rf"(?:\w{{1,20}} ?: ?)?(?:{wish})(?![^\W\u2e80-\u9fff])[^,:;]*$"
    return re.compile(whole), re.compile(rf"(?<!\w)(?:{wish})(?: \w{{1,24}}){{0,3}} ?$"), re.compile(you)


def addresses_model(text: str, start: int, end: int, address: Address) -> bool:
    """Whether the folded text around the passage [start, end) is what `address` asks for."""
    if address == "any":
        return True
    before = _words_before(text, start)
    if address != "role" and _pattern("for a thing").match(text, end):
        return False
    around = text[max(0, start - REACH_CHARACTERS) : start], text[start : end + REACH_CHARACTERS]
    if address == "unreported" and is_own_wish(_CLAUSE_END.split(around[0])[-1], _CLAUSE_END.split(around[1])[0]):
        return False
    if address == "order":
        return _is_order(before)
    if address == "role":
        return _is_role(before, _SENTENCE_END.split(text[end : end + REACH_CHARACTERS], maxsplit=1)[0])
    return "you" in before or "your" in before or not _words("others").intersection(before)


def _words_before(text: str, start: int) -> list[str]:
    return _WORD.findall(_SENTENCE_END.split(text[max(0, start - REACH_CHARACTERS) : start])[-1])


def _is_order(before: list[str]) -> bool:
    if not before:
        return True
    if before[0] in _words("questions"):
        return False
    if "you" in before[-5:]:
        return True
    return not _words("others").intersection(before) and _words("openers").issuperset(before)


def _is_role(before: list[str], after: str) -> bool:
    if _pattern("role").search(after):
        return True
    if before and before[-1] in _words("reports"):
        return False
    return not _pattern("life").match(after)
