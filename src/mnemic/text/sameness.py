"""Decides by words whether two sentences say the same, and which sentences deny one.

Cautious: a wrong merge hides a statement, a missed one only repeats it. So only articles, a few empty words, spellings
and the order around "is" may differ. Names, numbers, dates, negations, prepositions, tenses and roles never may. Open
pairs go to a model; missing or garbled answers count as "other", so a failing model merges and retires nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.item import Judgement, Role
from mnemic.text.normalise import key_words, late_pattern, stored_pattern, stored_texts
from mnemic.text.replies import list_schema, object_schema, read_items, without_thoughts
from mnemic.text.sanitise import one_line, sanitise

MAX_CHARS = 1000  # longer texts are compared by their key alone
MAX_DENIAL_CHARS = 160  # a longer text is no plain sentence
_FILLERS = frozenset(("a", "an", "the", "that", "also", "currently", "now", "presently"))
_ENDINGS = (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'m", " am"))
_GROUPED = late_pattern(r"\d{1,3}(?:,\d{3})+")
_HYPHEN = late_pattern(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_NUMBER = late_pattern(r"\d+(?:[.:/,-]\d+)*")
_pattern = partial(stored_pattern, __name__)
_NEGATION = _pattern("negation")
_DENIALS = tuple(
    (_pattern(name), f"{name}_denied")
    for name in ["is_not", "can_not", "always", "never", "does_not", "no_longer", "stopped", "is", "can", "does"]
)
_INTRODUCTION, _CALLED, _OWNER = _pattern("introduction"), _pattern("called"), _pattern("owner")
_ENDED, _NO_NOUN = _pattern("ended"), _pattern("no_noun")
_AFTERWARDS = late_pattern(r" (?:any ?more|any longer)$")
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "be": "is"}
_REGULAR_ES = ("s", "x", "z", "ch", "sh", "o")


def same_statement(one: str, other: str) -> bool:
    """True if both have the same words except for articles, fillers and spelling."""
    if max(len(one), len(other)) > MAX_CHARS:
        return False
    first, second = _content(one), _content(other)
    return bool(first) and (first == second or _swapped(first) == second)


_NAME = late_pattern(r"(?<=[\w,;:] )(?!I\b)[A-Z][\w.+#-]*[\w+#]|\b\w*\d[\w.:-]*")
_STEM_CHARS = 5  # names with the same first letters are one, such as Postgres and PostgreSQL
SAME_DECISION = 0.75
"""Cosine from which two sentences about the same things say the same. In a made-up set, 5 of 8 rewordings of one
decision are above it. So are two of 10 pairs of different decisions, which name different things.
"""


def names_same_things(one: str, other: str) -> bool:
    """False if each of two sentences has a name, number or negation that the other lacks."""
    first, second = (set(_NAME.findall(text)) for text in (one, other))
    lacking = [{n.casefold()[:_STEM_CHARS] for n in first}, {n.casefold()[:_STEM_CHARS] for n in second}]
    negations = [len(_NEGATION.findall(text.casefold())) for text in (one, other)]
    return not (lacking[0] - lacking[1] and lacking[1] - lacking[0]) and negations[0] == negations[1]


def covers_names(known: str, text: str) -> bool:
    """True if `known` is about the same person ("User", "User's sister") and has the names of `text` in that order."""
    names, is_of_one = iter(_NAME.findall(known)), known.startswith("User ") == text.startswith("User ")
    return is_of_one and names_same_things(known, text) and all(name in names for name in _NAME.findall(text))


def introduces(text: str, known: str) -> bool:
    """True if a sentence only names what `known` tells more of: "User has a dog", and "User's dog Rex is three"."""
    bare = _INTRODUCTION.fullmatch(text)
    if bare is None or _ENDED.search(known):
        return False
    told, plain = " ".join(filter(None, bare.groups())), _CALLED.sub("", known)
    ends = [owner.end() + len(told) for owner in _OWNER.finditer(plain) if plain.startswith(told, owner.end())]
    return any(_NO_NOUN.match(plain, end) for end in ends)


def may_be_same(one: str, other: str) -> bool:
    """False if a number, a date or the number of negations differs. Then no judgement can merge them."""
    first, second = " ".join(_content(one)), " ".join(_content(other))
    return sorted(_NUMBER.findall(first)) == sorted(_NUMBER.findall(second)) and len(_NEGATION.findall(first)) == len(
        _NEGATION.findall(second)
    )


def denials(text: str) -> list[str]:
    """The sentences that a plain sentence denies: "User is not vegetarian" denies "user is vegetarian", and vice versa.
    Few, and none for other texts.
    """
    if len(text) > MAX_DENIAL_CHARS:
        return []
    key = " ".join(key_words(text))
    said = _AFTERWARDS.sub("", key)
    for pattern, denied in _DENIALS:
        if (match := pattern.fullmatch(said)) is not None:
            return [form for form in _forms(match, stored_texts(__name__)[denied].split("|")) if form != key]
    return []


def _forms(match: re.Match[str], forms: Sequence[str]) -> Iterator[str]:
    fields = match.groupdict()
    verb = fields.get("verb") or ""
    stem = verb.removesuffix("ing")
    short = stem[:-1] if len(stem) > 1 and stem[-1] == stem[-2:-1] else stem
    fields |= {
        "third": third_form(verb),
        "base": _base_form(verb),
        "ing_s": third_form(stem) if stem else "",
        "ing_es": f"{stem}es",
        "ing_short": f"{short}s",
    }
    return iter(dict.fromkeys(form.format_map(fields) for form in forms))


def third_form(verb: str) -> str:
    """The verb form for "User"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(_REGULAR_ES) else "s")


def _base_form(verb: str) -> str:
    for base, third in _IRREGULAR.items():
        if verb == third:
            return base
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith("es") and verb[:-2].endswith(_REGULAR_ES) else verb[:-1]


def _content(text: str) -> list[str]:
    words: list[str] = []
    for word in key_words(_HYPHEN.sub(" ", text)):
        words += _spelled(word).split()
    return [word for word in words if word not in _FILLERS]


@cache
def _load_spellings() -> Mapping[str, str]:
    return dict(pair.split("=") for pair in stored_texts(__name__)["spellings"].split("|"))


def _spelled(word: str) -> str:
    if word in (spellings := _load_spellings()):
        return spellings[word]
    if _GROUPED.fullmatch(word):
        return word.replace(",", "")
    for ending, whole in _ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + whole
    return word


def _swapped(words: list[str]) -> list[str]:
    """The words around "is" swapped: "Rex is User's dog" for "User's dog is Rex". Unchanged without a single "is", or
    with a "not".
    """
    if words.count("is") != 1 or "not" in words:
        return words
    place = words.index("is")
    return [*words[place + 1 :], "is", *words[:place]]


MAX_PAIRS = 10  # per prompt: bounds its length, and that of the reply
REPLY_TOKENS = 512  # ten verdicts of about 40 tokens, with a margin
TIMEOUT_S = 15.0  # a write waits for it; on a timeout the rules decide
MAX_STATEMENT_CHARS = 400  # a statement is one or two sentences

_ITEM = object_schema(
    pair={"type": "integer", "minimum": 1, "maximum": MAX_PAIRS},
    relation={"type": "string", "enum": [judgement.value for judgement in Judgement]},
)


def judge_prompt(pairs: Sequence[tuple[str, str]]) -> Prompt:
    """The prompt for how the second statement of each pair relates to the first; at most `MAX_PAIRS` pairs."""
    lines = [
        f"pair {number}\nOLD: {_shown(old)}\nNEW: {_shown(new)}"
        for number, (old, new) in enumerate(pairs[:MAX_PAIRS], start=1)
    ]
    messages = (
        PromptMessage(Role.SYSTEM, stored_texts(__name__)["judge"]),
        PromptMessage(Role.USER, "\n\n".join(lines)),
    )
    return Prompt(
        messages=messages, schema=list_schema(_ITEM, most=MAX_PAIRS), max_tokens=REPLY_TOKENS, timeout_s=TIMEOUT_S
    )


def read_judgements(completion: Completion, pairs: int) -> list[Judgement]:
    """One judgement per pair; OTHER for a pair with two different ones, and for all of a cut reply."""
    found: dict[int, set[Judgement]] = {}
    if completion.finish is not Finish.LENGTH:
        for item in read_items(without_thoughts(completion.text), _ITEM, most=MAX_PAIRS).items:
            found.setdefault(int(str(item["pair"])), set()).add(Judgement(str(item["relation"])))
    told = [found.get(number, set()) for number in range(1, pairs + 1)]
    return [next(iter(each)) if len(each) == 1 else Judgement.OTHER for each in told]


def _shown(text: str) -> str:
    return one_line(sanitise(text))[:MAX_STATEMENT_CHARS]
