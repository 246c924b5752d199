"""Research's pieces of a huge document, its prompts for notes and answer, and the readers of replies. Pieces end at
section borders if there are any. The text, and a model's earlier notes about it, are data: sanitised, between markers.
A model cites notes by number; statements without a valid number are dropped.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.document import Heading
from mnemic.model.item import Role
from mnemic.text.blocks import Excerpt, Language, documents_block
from mnemic.text.narrative import tokens
from mnemic.text.replies import list_schema, read_items, without_thoughts
from mnemic.text.sanitise import one_line, sanitise
from mnemic.text.sentences import cut_at_word
from mnemic.text.wordings import every_wording, wording

MAX_NOTES = 6  # per piece

MAX_MERGED = 40  # notes of one reduction: more would not shrink towards one prompt
MAX_SAYS = 300  # of a note: one or two sentences
MAX_TITLE = 200  # of a document: it is in every prompt
SECOND_TRY = 0.3  # temperature of a retry
_NOTE = {
    "type": "object",
    "properties": {"quote": {"type": "string"}, "says": {"type": "string"}},
    "required": ["quote", "says"],
    "additionalProperties": False,
}
_MERGED = {
    "type": "object",
    "properties": {"says": {"type": "string"}, "numbers": {"type": "array", "items": {"type": "integer"}}},
    "required": ["says", "numbers"],
    "additionalProperties": False,
}
_MARK = re.compile(r"\s?\[(\d{1,5}(?:\s*[,;，、]\s*\d{1,5})*)\]")
_CONTENT = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Note:
    """A statement supported by quotes; `quotes`: their numbers, `text`: the quote itself if there is one."""

    says: str
    quotes: tuple[int, ...]
    text: str = ""
    page: int | None = None
    last_page: int | None = None

    @property
    def weight(self) -> int:
        """Tokens in a prompt, including the source line."""
        return tokens(self.says) + tokens(self.text) + _LINE_TOKENS


_LINE_TOKENS = 24  # of a note's JSON around its texts, with a margin


@dataclass(frozen=True, slots=True)
class Asking:
    """A question about a document, and the maximum tokens of replies."""

    question: str
    title: str
    language: Language
    reply_tokens: int

    @property
    def frame_tokens(self) -> int:
        """Tokens of a prompt besides a piece's text or the notes."""
        asks = ("research.map", "research.reduce", "research.answer")
        longest = max(tokens(text) for name in asks for text in every_wording(name))
        return longest + tokens(self.question) + 2 * tokens(self.title[:MAX_TITLE]) + _FRAME_TOKENS

    @property
    def recipe(self) -> str:
        """Everything besides the piece that a reply about it depends on."""
        ask = wording(self.language, "research.map")
        return "\n".join((ask, str(MAX_NOTES), self.question, self.title, str(self.reply_tokens)))


_FRAME_TOKENS = 200  # for the lines around a text: preface, markers, part and page


def map_prompt(asking: Asking, text: str, page: int | None, place: tuple[int, int]) -> Prompt:
    """The prompt for notes of one piece that bear on the question; `place`: the piece's number, and the total."""
    block = documents_block([Excerpt(asking.title[:MAX_TITLE], text, page)], asking.language)
    told = "\n\n".join((wording(asking.language, "research.place").format(*place), block, _ask_line(asking)))
    order = wording(asking.language, "research.map").format(most=MAX_NOTES)
    return _prompt(order, told, asking, list_schema(_NOTE, "notes", MAX_NOTES))


def reduce_prompt(asking: Asking, notes: Sequence[Note]) -> Prompt:
    """The prompt for fewer notes with the same content."""
    told = "\n\n".join((_list_notes(asking, notes), _ask_line(asking)))
    schema = list_schema(_MERGED, "notes", MAX_MERGED)
    return _prompt(wording(asking.language, "research.reduce").format(most=MAX_MERGED), told, asking, schema)


def answer_prompt(asking: Asking, notes: Sequence[Note], share: str) -> Prompt:
    """The prompt for the answer; `share`: how much of the document was read, "" for all."""
    partly = wording(asking.language, "research.partly").format(share) if share else ""
    told = "\n\n".join(part for part in (_list_notes(asking, notes), partly, _ask_line(asking)) if part)
    return _prompt(wording(asking.language, "research.answer"), told, asking, None)


def read_notes(completion: Completion) -> list[tuple[str, str]] | None:
    """(quote, statement) pairs in a reply about a piece, in order, as far as it goes; None if it is no answer."""
    reading = read_items(completion.text, _NOTE, most=MAX_NOTES)
    if not reading.is_answer:
        return None
    said = [(str(item["quote"]), one_line(str(item["says"]))) for item in reading.items]
    return [(quote, _short(says)) for quote, says in said if _CONTENT.search(says)]


def read_merged(completion: Completion, notes: Sequence[Note]) -> list[Note] | None:
    """The merged notes of a reply, with the quotes of the notes that they cite; None if none cites a valid one."""
    merged: list[Note] = []
    for item in read_items(completion.text, _MERGED, most=MAX_MERGED).items:
        named = [number for number in cast("Sequence[int]", item["numbers"]) if 1 <= number <= len(notes)]
        quotes = tuple(dict.fromkeys(quote for number in named for quote in notes[number - 1].quotes))
        says = _short(one_line(str(item["says"])))
        if quotes and _CONTENT.search(says):
            merged.append(Note(says, quotes))
    return merged or None


def read_answer(completion: Completion, numbers: Collection[int]) -> tuple[str, list[int]] | None:
    """The answer without invalid citations, and the numbers it cites; None for an empty one."""
    text = without_thoughts(completion.text).strip()
    if not _CONTENT.search(text):
        return None
    cited: list[int] = []

    def kept(mark: re.Match[str]) -> str:
        named = [int(number) for number in re.findall(r"\d+", mark.group(1))]
        known = [number for number in named if number in numbers]
        cited.extend(known)
        if known == named:
            return mark.group()
        return f"{mark.group()[: mark.group().index('[')]}[{', '.join(map(str, known))}]" if known else ""

    text = _MARK.sub(kept, text)
    return text + (" …" if completion.finish is Finish.LENGTH else ""), list(dict.fromkeys(cited))


def again(prompt: Prompt) -> Prompt:
    """The same prompt for a retry, with a higher temperature."""
    return replace(prompt, temperature=SECOND_TRY)


def _list_notes(asking: Asking, notes: Sequence[Note]) -> str:
    excerpts = [
        Excerpt(
            asking.title[:MAX_TITLE],
            f"{note.says}\n({note.text})" if note.text else note.says,
            note.page,
            note.last_page,
            number=number,
        )
        for number, note in enumerate(notes, start=1)
    ]
    return documents_block(excerpts, asking.language)


def _ask_line(asking: Asking) -> str:
    return wording(asking.language, "research.question").format(one_line(asking.question))


def _short(says: str) -> str:
    says = sanitise(says)
    return says if len(says) <= MAX_SAYS else cut_at_word(says, lambda text: len(text) <= MAX_SAYS)


def _prompt(system: str, told: str, asking: Asking, schema: dict[str, object] | None) -> Prompt:
    messages = (PromptMessage(Role.SYSTEM, system), PromptMessage(Role.USER, told))
    return Prompt(messages=messages, schema=schema, max_tokens=asking.reply_tokens)


MAX_QUOTE_CHARACTERS = 600  # a paragraph: a longer quote proves nothing in particular
LEAST_WEIGHT = 8
"""Minimum weight of a quote in letters and digits; those outside of Latin, Greek and Cyrillic weigh two. Shorter ones
could occur anywhere.
"""

_GAP = re.compile(r"(?:(?<!\s)\s++)?(?:\[\s*(?:\u2026|\.{3})\s*\]|\u2026|\.{3})\s*")
_MARKS = "\"'`\uff02\u201c\u201d\u201e\u201f\u301d\u301e\u275d\u275e\u2018\u2019\u201a\u201b\u00ab\u00bb"
_EDGE = _MARKS + " \t\r\n.,;:!?\u3002\uff0c\uff01\uff1f-\u2013\u2014*_"
_PARTS = re.compile(rf"(?P<space>\s+)|(?P<mark>[{re.escape(_MARKS)}])|(?P<plain>[^\s{re.escape(_MARKS)}]+)")
_NARROW_BELOW = 0x0590  # where Hebrew begins; below are Latin, Greek, Cyrillic and Armenian

Span = tuple[int, int]


def find_quotes(given: str, text: str, start: int, end: int) -> list[Span]:
    """The places of a quote within `text[start:end]`, one per part between ellipses, in order. Empty if a part is
    missing or too short, or the whole is too long for a quote.
    """
    given = given.strip()
    if len(given) > 2 * MAX_QUOTE_CHARACTERS:
        return []
    whole = _place(given, text, start, end)
    if whole is not None:
        return [whole]
    found: list[Span] = []
    for part in _GAP.split(given):
        if not part.strip(_EDGE):
            continue
        place = _place(part, text, start, end)
        if place is None:
            return []
        found.append(place)
    return found if sum(last - first for first, last in found) <= MAX_QUOTE_CHARACTERS else []


def _place(given: str, text: str, start: int, end: int) -> Span | None:
    if _weight(given) < LEAST_WEIGHT:
        return None
    for words in dict.fromkeys((given, given.strip(_EDGE))):
        at = text.find(words, start, end)
        found = (at, at + len(words)) if at >= 0 else _find_loosely(words, text, start, end)
        if found is not None:
            place = _trim_place(text, *found)
            return place if place[1] - place[0] <= MAX_QUOTE_CHARACTERS else None
    return None


def _find_loosely(words: str, text: str, start: int, end: int) -> Span | None:
    pattern = "".join(_pattern(words.strip()))
    for flags in (0, re.IGNORECASE):
        match = re.compile(pattern, flags).search(text, start, end)
        if match is not None:
            return match.span()
    return None


def _pattern(words: str) -> Iterator[str]:
    for part in _PARTS.finditer(words):
        if part["space"]:
            yield r"\s+"
        elif part["mark"]:
            yield f"[{re.escape(_MARKS)}]"
        else:
            yield re.escape(part["plain"])


def _trim_place(text: str, start: int, end: int) -> Span:
    """The place without white space at its ends."""
    words = text[start:end]
    first = start + len(words) - len(words.lstrip())
    return first, first + len(words.strip())


def _weight(words: str) -> int:
    return sum(1 if ord(character) < _NARROW_BELOW else 2 for character in words if character.isalnum())


LEAST_ROOM = 200  # tokens; smaller pieces are not worth reading
OVERLAP_CHARACTERS = 300
"""Characters of a piece repeated in the next one, from the start of a sentence, if nothing separates them."""

_CHARACTERS_A_TOKEN = 2.5  # of ASCII, as `tokens` counts
_FIRST_BORDER = 0.5  # of what fits: ending at an earlier section would leave too much room unused
_ENDS = (". ", "! ", "? ", ".\n", "。", "！", "？", "؟ ", "। ")


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` to `end` (exclusive) of a text. Those before `own` are also in the previous piece."""

    index: int
    start: int
    own: int
    end: int


def cut(text: str, room: int, headings: Sequence[Heading] = (), pages: Sequence[int] = ()) -> list[Piece]:
    """The pieces of a text in order, each of at most `room` tokens (see `narrative.tokens`), covering all of it.
    `headings` and `pages` ascend by offset. A piece ends at the highest heading within the second half of what fits.
    Without one it ends at an empty line, page start, line, sentence, word or any character.
    """
    room = max(room, LEAST_ROOM)
    offsets = [heading.offset for heading in headings]
    found: list[Piece] = []
    start = own = 0
    while own < len(text):
        limit = _fitting(text, start, room)
        end, is_parted = _border(text, (start, limit), (headings, offsets), pages)
        end = max(end, own + 1)
        found.append(Piece(len(found), start, own, end))
        start, own = end if is_parted else _overlap(text, start, end), end
    return found


def _fitting(text: str, start: int, room: int) -> int:
    """The last offset up to which the text from `start` fits the room."""
    most = min(len(text), start + int(room * _CHARACTERS_A_TOKEN))
    if tokens(text[start:most]) <= room:
        return most
    return start + bisect_right(range(most - start), room, key=lambda size: tokens(text[start : start + size])) - 1


def _border(
    text: str, span: tuple[int, int], headings: tuple[Sequence[Heading], Sequence[int]], pages: Sequence[int]
) -> tuple[int, bool]:
    """The end of a piece that may reach the end of `span`, and whether it is a natural border."""
    start, limit = span
    if limit >= len(text):
        return len(text), True
    first = start + max(1, int((limit - start) * _FIRST_BORDER))
    titles, offsets = headings
    near = titles[bisect_left(offsets, first) : bisect_right(offsets, limit)]
    if near:
        return min(near, key=lambda heading: (heading.level, -heading.offset)).offset, True
    blank = text.rfind("\n\n", first, limit)
    if blank >= 0:
        return blank + 2, True
    page = bisect_right(pages, limit)
    if page and pages[page - 1] >= first:
        return pages[page - 1], False
    line = text.rfind("\n", first, limit)
    if line >= 0:
        return line + 1, False
    ends = [place + len(mark) for mark in _ENDS if (place := text.rfind(mark, first, limit)) >= 0]
    blank = text.rfind(" ", first, limit)
    return max(ends, default=blank + 1 or limit), False


def _overlap(text: str, start: int, end: int) -> int:
    """The start of the next piece, so that it includes the last sentences of this one."""
    least = end - min(OVERLAP_CHARACTERS, (end - start) // 10)
    begins = [place + len(mark) for mark in (*_ENDS, "\n") if 0 <= (place := text.find(mark, least, end)) < end - 2]
    return min(begins, default=end)
