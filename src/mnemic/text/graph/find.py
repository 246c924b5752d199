"""Extracts entities and relations from one text, by rules or by a model's reply. By rules, a phrase known to `phrases`
must stand between two names of a sentence. Suppositions, questions and denials relate nothing. Time is linear in the
length of the text. A model's entity must occur in the text, and its relation must join two such entities.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import cast

from mnemic.errors import BadReplyError
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.graph import ALSO_KNOWN_AS, MAX_TYPE_CHARS, RELATED_TO, EntityType, Named, Related
from mnemic.model.item import Role
from mnemic.ports.models import TextParser
from mnemic.text import sanitise
from mnemic.text.graph import names as spelling
from mnemic.text.graph import parsed
from mnemic.text.languages import ClauseRules, detect
from mnemic.text.normalise import late_pattern
from mnemic.text.replies import read_item
from mnemic.text.sentences import sentences
from mnemic.text.wordings import wording

EXTRACTOR = "rules-6"  # name of the rules as a reader; changes with any rule of this package
STATED, IMPLIED = 3, 2  # evidence for a type: the name or text states it, or a relation implies it
MOST_CHARACTERS = 20_000  # read of a text: bounds the time of the rules
MOST_NAMES = 40  # of one text: a text with more is a list
MOST_RELATIONS = 60  # of one text: a text with more is a list
MOST_JOINED = 6  # names joined by "and": every pair of two such lists is a relation
MOST_FILLERS = 2  # words between a phrase and its name; more belong to another clause
_GAP_CHARACTERS = 80  # between two names that one phrase relates; more holds another clause

_MINE = re.compile(r"(?<![\w'\u2019])[Mm]y\s+(?=(?:new |old |big |little |older |younger )?[a-z]{3,20}(?: is|,)? )")
_LOWER = late_pattern(r"(?<!\w)[^\W\d_A-Z]{2,}(?!\w)")
_CLAUSE = late_pattern("[^\uff0c,\u3002\uff1b;\uff01!\uff1f?\u3001\uff1a:\n\uff08\uff09()]+")
_PRONOUN = re.compile(r"\s*(?P<word>[Hh]e|[Ss]he|[Ii]t)\s")
_GAP_WORD = re.compile(
    r"[^\W\d_](?:[^\W\d_]|[.-](?=[^\W\d_]))*+(?:['\u2019][^\W\d_]+)?|['\u2019][^\W\d_]+|[,&;:()?!\u2026\u2014]|\d+"
)
_DESCRIPTION = late_pattern(r"[^.,;:!?()\n]{2,80}")  # what a text says of a name: "a company based in Oslo"
_LISTED_KIND = late_pattern(r"\b([a-z]+),? (?:like|such as|including|called|named) (?:[A-Z][\w' ]*, )?(?:the )?$")
_ENDS_KIND = frozenset(("in", "of", "who", "that", "which", "from", "with", "for", "at", "and", "by", "to"))
_FENCES = ("```", "~~~")  # code names no things
_BRACKETED = re.compile(r"\s*\((?P<short>[A-Z][A-Za-z0-9&.-]{1,11})\)")


@dataclass(frozen=True, slots=True)
class Found:
    """A text's names, each once, and the relations between them."""

    names: tuple[Named, ...] = ()
    relations: tuple[Related, ...] = ()


@dataclass(slots=True)
class Findings:
    """Collects names and relations. `subject`: of the last clause, if any. `common`: words that the text also has in
    lower case, so that a capital alone makes none of them a name.
    """

    names: dict[tuple[str, EntityType], Named] = field(default_factory=dict[tuple[str, EntityType], Named])
    relations: dict[tuple[str, str, str], tuple[spelling.Name, spelling.Name, int, int]] = field(
        default_factory=dict[tuple[str, str, str], tuple[spelling.Name, spelling.Name, int, int]]
    )
    votes: dict[str, Counter[EntityType]] = field(default_factory=dict[str, "Counter[EntityType]"])
    seen: dict[str, spelling.Name] = field(default_factory=dict[str, spelling.Name])
    subject: list[spelling.Name] = field(default_factory=list[spelling.Name])
    common: frozenset[str] = frozenset()
    descriptions: dict[str, str] = field(default_factory=dict[str, str])

    def see(self, name: spelling.Name, type_: EntityType = EntityType.THING) -> None:
        """Add a name worth keeping, with its type if known."""
        key = name.key
        if not key or (key not in self.seen and len(self.seen) >= MOST_NAMES):
            return
        self.seen.setdefault(key, name)
        self.vote(key, name.type, STATED)
        self.vote(key, type_, IMPLIED)

    def vote(self, key: str, type_: EntityType, weight: int) -> None:
        """Add evidence for the type of a name."""
        if type_ is not EntityType.THING:
            self.votes.setdefault(key, Counter())[type_] += weight

    def fits(self, one: spelling.Name, other: spelling.Name, phrase: spelling.Phrase) -> bool:
        """False if a phrase about people or places is said of a name that is surely something else."""
        for name, wanted in ((one, phrase.first), (other, phrase.second)):
            votes = self.votes.get(name.key, Counter())
            if wanted in (EntityType.PERSON, EntityType.PLACE) and wanted not in votes and votes.total() >= STATED:
                return False
        return True

    def type_of(self, key: str) -> EntityType:
        """The type with the most evidence, the first of several."""
        return self.votes[key].most_common(1)[0][0] if key in self.votes else EntityType.THING

    def meant(self, pronoun: str) -> list[spelling.Name]:
        """The last subject, for a pronoun only if it is a person; "" may continue any subject."""
        return [name for name in self.subject if not pronoun or self.type_of(name.key) is EntityType.PERSON]

    def relate(
        self, first: spelling.Name, second: spelling.Name, phrase: spelling.Phrase, span: tuple[int, int]
    ) -> None:
        """Add a phrase's relation between two names."""
        if first.key == second.key or not first.key or not second.key or len(self.relations) >= MOST_RELATIONS:
            return
        self.see(first, phrase.first)
        self.see(second, phrase.second)
        if first.key not in self.seen or second.key not in self.seen:
            return
        source, target = (second, first) if phrase.is_inverse else (first, second)
        if phrase.type == ALSO_KNOWN_AS and (len(source.key), source.key) < (len(target.key), target.key):
            source, target = target, source
        self.relations.setdefault((source.key, target.key, phrase.type), (source, target, *span))

    def found(self) -> Found:
        """Everything collected."""
        whole = {key: self._whole_name(key) for key in self.seen}
        places = {key: place for place, key in enumerate(dict.fromkeys(whole.values()))}
        names = [
            Named(seen.text, key, self.type_of(key), seen.start, seen.end, self.descriptions.get(key, ""))
            for key, seen in ((key, self.seen[key]) for key in places)
        ]
        related: dict[tuple[int, int, str], Related] = {}
        for (source, target, type_), (_, _, start, end) in self.relations.items():
            ends = places[whole[source]], places[whole[target]]
            if ends[0] != ends[1]:
                related.setdefault((*ends, type_), Related(*ends, type_, start, end))
        return Found(tuple(names), tuple(related.values()))

    def _whole_name(self, key: str) -> str:
        """The first longer name that ends with this single word ("Keller" for "Marta Keller"), or is a person's and
        begins with it. Not if their types differ, one is a place, or a relation joins them.
        """
        if " " in key:
            return key
        joined = {frozenset(ends[:2]) for ends in self.relations}
        for other in self.seen:
            begins, ends = (part == key != other for part in (other.partition(" ")[0], other.rpartition(" ")[2]))
            types = {self.type_of(key), self.type_of(other)} - {EntityType.THING}
            is_one_type = len(types) <= 1 and EntityType.PLACE not in types
            is_meant = is_one_type and (ends or (begins and EntityType.PERSON in types))
            if is_meant and frozenset((key, other)) not in joined:
                return other
        return key


def find(text: str, speaker: str = "", parser: TextParser | None = None) -> Found:
    """The names and relations of a text. `speaker`: the person behind "I", or behind "User" in a memory; "" if unknown,
    so that "I" is skipped. `parser` reads English; without one, and in other languages, rules do. No string raises.
    """
    findings = Findings()
    shown = text[:MOST_CHARACTERS]
    if parser is not None and detect(shown, least_share=0).code == "en":
        persons: list[spelling.Name] = []
        things: list[spelling.Name] = []
        for words in parser.parse(shown):
            if words:
                _read_parsed(shown, parsed.Sentence(words, (), findings, persons, things), findings, speaker)
        return findings.found()
    before: Sequence[spelling.Name] = ()
    findings.common = frozenset(_LOWER.findall(shown))
    for start, end in sentences(shown):
        sentence = shown[start:end]
        if sentence.startswith(_FENCES):
            continue
        clauses = detect(sentence, least_share=0).clauses
        if clauses is not None:
            before = ()
            _read_clauses(sentence, start, speaker, clauses, findings)
        else:
            findings.subject = []
            before = _read(shown, (start, end), speaker, before, findings)
    return findings.found()


def _read_parsed(text: str, sentence: parsed.Sentence, findings: Findings, speaker: str) -> None:
    """Read one parsed sentence."""
    words = sentence.words
    start, end = words[0].start, words[-1].end
    names = [*parsed.names_of(text, words), *_speakers(text, (start, end), speaker)]
    names.sort(key=lambda name: name.start)
    sentence.names = _with_kinds(text, names, (start, end), findings)
    for name in sentence.names:
        if name.is_sure or name.type is not EntityType.THING:
            findings.see(name)
        for type_, weight in parsed.evidence(name, words):
            findings.vote(name.key, type_, weight)
    if len(words) > parsed.MOST_WORDS:
        return
    doubts = _first_doubt(text, (start, end))
    if not text[start:end].rstrip("\"' )").endswith("?"):
        for one, other, said in sentence.links():
            phrase = spelling.load_words().phrases.get(said)
            if phrase is not None and max(one.start, other.start) < doubts and findings.fits(one, other, phrase):
                findings.relate(one, other, phrase, (start, end))
    sentence.note_subjects()


def _read_clauses(sentence: str, offset: int, speaker: str, rules: ClauseRules, findings: Findings) -> None:
    """Read relations by clause, for scripts without capitals and blanks. `offset` is added to all places."""
    for clause in _CLAUSE.finditer(sentence):
        text = clause.group().rstrip()
        is_denied = rules.denying.search(clause.group()) is not None
        matches = () if is_denied else ((meaning, rule.fullmatch(text)) for meaning, rule in rules.relations)
        meaning, match = next(((meaning, match) for meaning, match in matches if match is not None), ("", None))
        if match is None:
            findings.subject = findings.subject if rules.going_on.match(text) else []
            continue
        begin, phrase = offset + clause.start(), spelling.load_words().meanings[meaning]
        first, second = (_names_within(match, group, begin, speaker, rules, findings) for group in ("a", "b"))
        for one in first:
            for other in second:
                if findings.fits(one, other, phrase):
                    findings.relate(one, other, phrase, (begin, begin + len(text)))
        findings.subject = first[:1]


def _names_within(
    match: re.Match[str], group: str, begin: int, speaker: str, rules: ClauseRules, findings: Findings
) -> list[spelling.Name]:
    """The names in a group of a clause's match: the last subject for a pronoun, and several if they are joined."""
    said, start = match[group].strip(), begin + match.start(group)
    if said in rules.pronouns:
        return findings.meant(said) if group == "a" else []
    for meaning, rule in rules.owned:
        if (owned := rule.fullmatch(said)) is not None:
            owner, name = (_name_within(owned[end], start + owned.start(end), speaker, rules) for end in ("a", "b"))
            owner = next(iter(findings.meant(owned["a"])), None) if owned["a"] in rules.pronouns else owner
            if owner is not None and name is not None:
                findings.relate(owner, name, spelling.load_words().meanings[meaning], (start, start + len(said)))
                return [name]
    parts = rules.joined.split(said)
    parts = parts if all(len(part) > 1 for part in parts) else [said]
    names = (_name_within(part, start + said.find(part), speaker, rules) for part in parts)
    return [name for name in names if name is not None]


def _name_within(said: str, start: int, speaker: str, rules: ClauseRules) -> spelling.Name | None:
    end = start + len(said)
    if said in rules.speakers:
        return spelling.Name(speaker, start, end, EntityType.PERSON) if speaker else None
    shown = spelling.clean_name(rules.typed.sub("", rules.before_name.sub("", said)))
    if not shown or rules.nobody.match(shown) or (len(shown) == 1 and not shown.isascii()):
        return None
    type_ = spelling.type_of(shown)
    if type_ is EntityType.THING:
        told = (EntityType(kind) for kind, endings in rules.endings.items() if shown.endswith(tuple(endings.split())))
        type_ = next(told, type_)
    return spelling.Name(shown, start, end, type_)


def _read(
    text: str, span: tuple[int, int], speaker: str, before: Sequence[spelling.Name], findings: Findings
) -> Sequence[spelling.Name]:
    """Read one sentence, after one with the names `before`. Returns its names."""
    start, end = span
    names = [
        *spelling.names_in(text, start, end),
        *_speakers(text, span, speaker),
        *_resolve_pronoun(text, span, before, findings),
    ]
    names.sort(key=lambda name: name.start)
    names = _with_kinds(text, names, (start, end), findings)
    for name in names:
        if name.type is not EntityType.THING or (name.is_sure and name.key not in findings.common):
            findings.see(name)
    if not text[start:end].rstrip("\"' )").endswith("?"):
        _relate(text, span, names, findings)
    return names


def _resolve_pronoun(
    text: str, span: tuple[int, int], before: Sequence[spelling.Name], findings: Findings
) -> list[spelling.Name]:
    """The name that a pronoun at the start means: the only possible one of the previous sentence."""
    match = _PRONOUN.match(text, span[0])
    if match is None or not before:
        return []
    told = {name.key: findings.type_of(name.key) for name in before}
    is_person = match["word"].lower() != "it"
    able = [
        key
        for key, type_ in told.items()
        if (type_ is EntityType.PERSON) == is_person and type_ is not EntityType.PLACE
    ]
    if len(able) != 1:
        return []
    name = next(name for name in before if name.key == able[0])
    return [replace(name, start=match.start("word"), end=match.end("word"))]


def _speakers(text: str, span: tuple[int, int], speaker: str) -> list[spelling.Name]:
    """The speaker's mentions of themselves."""
    if not speaker:
        return []
    found = [(match.start(), match.end()) for match in spelling.load_words().speaker.finditer(text, *span)]
    found += [(match.start(), match.start() + 2) for match in _MINE.finditer(text, *span)]
    return [spelling.Name(speaker, start, end, EntityType.PERSON) for start, end in found]


def _with_kinds(
    text: str, names: Sequence[spelling.Name], span: tuple[int, int], findings: Findings
) -> list[spelling.Name]:
    """The names with the information right behind them: a type, or a short form."""
    kept: list[spelling.Name] = []
    start, end = span
    for place, each in enumerate(names):
        name = each
        until = names[place + 1].start if place + 1 < len(names) else end
        match = spelling.load_words().kind.match(text, name.end, end)
        kind = EntityType.THING if match is None else _kind_said(match["words"], until - match.start("words"))
        if (
            match is not None
            and kind is not EntityType.THING
            and (said := _DESCRIPTION.match(text, match.start("words")))
        ):
            findings.descriptions.setdefault(name.key, said.group().strip())
        if kind is EntityType.THING and (listed := _LISTED_KIND.search(text, max(start, name.start - 40), name.start)):
            kind = _kind_of_several(listed[1])
        if kind is not EntityType.THING and name.type is EntityType.THING:
            name = replace(name, type=kind)
            findings.see(name)
        kept.append(name)
        short = _BRACKETED.match(text, name.end, end)
        if short is not None and _is_short_for(short["short"], name.text):
            other = spelling.Name(short["short"], short.start("short"), short.end("short"), name.type)
            findings.relate(name, other, spelling.load_words().meanings["also known as"], (name.start, short.end()))
    return kept


def _kind_of_several(noun: str) -> EntityType:
    """The entity type of a noun in the singular or plural."""
    kinds = spelling.load_words().kinds
    forms = (noun, noun.removesuffix("s"), noun.removesuffix("es"), noun.removesuffix("ies") + "y")
    return next((kinds[form] for form in forms if form in kinds), EntityType.THING)


def _kind_said(words: str, room: int) -> EntityType:
    """The entity type of a noun within the first `room` characters of some words."""
    for word in words[: max(room, 0)].lower().split():
        if word in spelling.load_words().kinds:
            return spelling.load_words().kinds[word]
        if word in _ENDS_KIND:
            break
    return EntityType.THING


def _is_short_for(short: str, name: str) -> bool:
    letters = [character.lower() for character in short if character.isalnum()]
    initials = [word[0].lower() for word in name.split() if word[0].isupper() or word[0].isdigit()]
    return len(letters) > 1 and (letters == initials or letters == [word[0].lower() for word in name.split()])


@dataclass(slots=True)
class _Line:
    """A sentence read from left to right: the latest joined names, the last phrase and its subjects, and the subjects
    before a comma ("Apollo, which depends on Kafka, ...").
    """

    last: list[spelling.Name] = field(default_factory=list[spelling.Name])
    subjects: list[spelling.Name] = field(default_factory=list[spelling.Name])
    phrase: spelling.Phrase | None = None
    aside: list[spelling.Name] = field(default_factory=list[spelling.Name])

    def begin(self, name: spelling.Name) -> None:
        """Start again without subjects."""
        self.last, self.subjects, self.phrase, self.aside = [name], [], None, []


def _relate(text: str, span: tuple[int, int], names: Sequence[spelling.Name], findings: Findings) -> None:
    """Read the relations between the names of a sentence."""
    line, doubts = _Line(), _first_doubt(text, span)
    for before, name in pairwise([None, *names]):
        if name is None:
            continue
        gap = None if before is None else _gap(text, before, name)
        if gap is None or before is None or before.start > doubts:
            line.begin(name)
        elif gap and all(word in spelling.load_words().joining for word in gap):
            line.last.append(name)
            if line.phrase is not None and len(line.last) <= MOST_JOINED:
                _add_relations(line.subjects, name, line.phrase, findings)
        elif (said := _find_phrase(text, gap, name)) is None:
            line.begin(name)
        else:
            _choose_subject(line, name, *said, has_comma=gap[0] == ",")
            _add_relations(line.subjects, name, said[0], findings)


def _choose_subject(line: _Line, name: spelling.Name, phrase: spelling.Phrase, lead: str, *, has_comma: bool) -> None:
    """Choose the next phrase's subject: the names right before it, unless a joining word or comma says otherwise."""
    subjects = line.last
    if lead in spelling.load_words().going_on and line.subjects:
        subjects = line.subjects
    elif has_comma and lead not in spelling.load_words().relative and line.aside:
        subjects = line.aside
    line.aside = subjects if has_comma and not line.aside and lead not in spelling.load_words().going_on else []
    line.last, line.subjects, line.phrase = [name], subjects[:MOST_JOINED], phrase


def _add_relations(
    subjects: Sequence[spelling.Name], name: spelling.Name, phrase: spelling.Phrase, findings: Findings
) -> None:
    for one in subjects:
        findings.relate(one, name, phrase, (min(one.start, name.start), max(one.end, name.end)))


def _first_doubt(text: str, span: tuple[int, int]) -> int:
    """Where the sentence starts to suppose; its end if it does not."""
    for match in _GAP_WORD.finditer(text, *span):
        if match.group().lower() in spelling.load_words().doubting:
            return match.start()
    return span[1]


def _gap(text: str, before: spelling.Name, name: spelling.Name) -> list[str] | None:
    """The lower-case words between two names; None if there are too many."""
    if name.start - before.end > _GAP_CHARACTERS:
        return None
    found = _GAP_WORD.finditer(text, before.end, name.start)
    words = [match.group().lower().replace("\u2019", "'") for match in found]
    return ["'s", *words] if text[before.start : before.end].lower() == "my" else words


def _find_phrase(text: str, gap: Sequence[str], name: spelling.Name) -> tuple[spelling.Phrase, str] | None:
    """The phrase between two names and the word before it, if any; None for an unknown phrase."""
    words = [part for word in gap for part in _parted(word)]
    if not words or any(word in spelling.load_words().stopping or word in ";:()?!\u2026\u2014" for word in words):
        return None
    lead = ""
    while words and (
        words[0] in spelling.load_words().going_on or words[0] in spelling.load_words().relative or words[0] == ","
    ):
        lead = words[0] if words[0] != "," else lead
        words = words[1:]
    owned = _find_possession(text, words, name)
    if owned is not None:
        return owned, lead
    for skipped in range(len(words)):
        for end in range(min(len(words), skipped + spelling.load_words().most_words), skipped, -1):
            phrase = spelling.load_words().phrases.get(" ".join(words[skipped:end]))
            if phrase is not None and _is_filler(words[end:]):
                return phrase, lead
        if not _is_skipped(words[skipped]):
            break
    return None


def _is_skipped(word: str) -> bool:
    """True for words that may precede a phrase: auxiliaries, adverbs, and the subject's noun (a company that ...)."""
    told = (
        word in spelling.load_words().skipped_before
        or word in spelling.load_words().skipped_behind
        or word in spelling.load_words().relative
    )
    return told or word in spelling.load_words().kinds or word.endswith("ly")


def _parted(word: str) -> list[str]:
    """A word and its contraction: don't, Anna's."""
    if word.endswith("n't"):
        return [word]
    head, mark, tail = word.partition("'")
    return [part for part in (head, mark + tail) if part and part != "'"]


def _is_filler(words: Sequence[str]) -> bool:
    """True for words that may follow a phrase: articles, and a noun that names the type."""
    rest = [word for word in words if word not in spelling.load_words().skipped_behind]
    is_verb = [word for word in rest if word in ("is", "was", "named", "called", ",")]
    rest = [word for word in rest if word not in is_verb]
    return (
        all(word in spelling.load_words().kinds or word in ("of", "team") for word in rest)
        and len(rest) <= MOST_FILLERS
    )


def _find_possession(text: str, words: Sequence[str], name: spelling.Name) -> spelling.Phrase | None:
    """The phrase after a possessive name, as in "Bob is Anna's manager"."""
    if not words or any(
        word not in ("is", "was", "became") and word not in spelling.load_words().skipped_behind for word in words
    ):
        return None
    behind = re.compile(r"['\u2019]s\s+(?:new\s+|old\s+)?(?P<noun>[a-z]+(?: lead)?)").match(text, name.end)
    said = None if behind is None else spelling.load_words().phrases.get(f"'s {behind['noun']}")
    if said is None:
        return None
    return spelling.Phrase(said.type, said.second, said.first, is_inverse=not said.is_inverse)


PROMPT_VERSION = "graph-1"  # part of the reader's name; changes with any wording here
TIMEOUT_S = 20.0  # a job waits for it; on a timeout the rules' findings stay
REPLY_TOKENS = 700  # about twenty names and relations as JSON
MAX_SHOWN_CHARS = 4000  # about 1,000 tokens: fits any model's context with the instruction
_BEGIN, _END = "---BEGIN TEXT---", "---END TEXT---"
_FORGED = late_pattern(r"(?<![-=_*#<\[])[-=_*#<\[]++\s*+(?:begin|end)[\s_-]++text\s*+[-=_*#>\]]*+", re.IGNORECASE)
_LIST: dict[str, object] = {"type": "array", "items": {"type": "object"}}
_REPLY: dict[str, object] = {
    "type": "object",
    "properties": {"entities": _LIST, "relations": _LIST},
    "required": ["entities"],
}
_USER = ("user", "the user", "i", "用户", "我")
_TYPE = re.compile(r"[A-Z][A-Z0-9_]*")


def graph_prompt(text: str) -> Prompt:
    """The prompt for the entities and relations of one text."""
    order = wording("en", "graph.ask").format(
        entities=", ".join(EntityType), relations=", ".join(spelling.relation_types())
    )
    inside = _FORGED.sub("[REDACTED]", sanitise.sanitise(text[:MAX_SHOWN_CHARS]))
    messages = (PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, f"{_BEGIN}\n{inside}\n{_END}"))
    return Prompt(messages=messages, schema=_REPLY, max_tokens=REPLY_TOKENS, timeout_s=TIMEOUT_S)


def read_graph(completion: Completion, text: str, speaker: str) -> Found:
    """A reply's entities and relations, as far as they are in the text. `speaker`: the user's name, or "" for no one.
    Raises `BadReplyError` for a reply that is cut or holds no such object.
    """
    if completion.finish is Finish.LENGTH:
        raise BadReplyError("the model's reply was cut off at its token limit")
    reading = read_item(completion.text, _REPLY)
    if not reading.items:
        why = reading.refused[0].reason if reading.refused else "it has no JSON object"
        raise BadReplyError(f"the model's reply contains no entities: {why}")
    reply, findings = reading.items[0], Findings()
    known: dict[str, spelling.Name] = {}
    for entry in _entries(reply.get("entities")):
        name = _name(entry.get("name"), text, speaker)
        if name is not None:
            known.setdefault(name.key, name)
            findings.see(name, entity_type(entry.get("type")))
    for entry in _entries(reply.get("relations"))[:MOST_RELATIONS]:
        ends = [_name(entry.get(end), text, speaker) for end in ("source", "target")]
        first, second = (None if end is None else known.get(end.key) for end in ends)
        if first is not None and second is not None:
            span = (min(first.start, second.start), max(first.end, second.end))
            findings.relate(first, second, spelling.Phrase(relation_type(entry.get("type"))), span)
    return findings.found()


def entity_type(said: object) -> EntityType:
    """The type with this name, or THING if unknown."""
    word = str(said or "").strip().lower().replace("organization", EntityType.ORGANISATION.value)
    word = {"company": "organisation", "location": "place", "tool": "technology", "people": "person"}.get(word, word)
    return EntityType(word) if word in tuple(EntityType) else EntityType.THING


def relation_type(said: object) -> str:
    """A relation type in capitals, or RELATED_TO if invalid."""
    type_ = re.sub(r"[^A-Za-z0-9]+", "_", str(said or "")).strip("_").upper()
    return type_ if _TYPE.fullmatch(type_) and len(type_) <= MAX_TYPE_CHARS else RELATED_TO


def _entries(value: object) -> list[Mapping[str, object]]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, object]", entry) for entry in found if isinstance(entry, dict)]


def _name(said: object, text: str, speaker: str) -> spelling.Name | None:
    """A name at its place in the text, or None."""
    if not isinstance(said, str):
        return None
    if said.strip().lower() in _USER:
        place = re.search(r"\b(?:user|I)\b|用户|我", text, re.IGNORECASE)
        return spelling.Name(speaker, place.start(), place.end(), EntityType.PERSON) if speaker and place else None
    shown = spelling.clean_name(said)
    place = re.search(_whole(shown), text, re.IGNORECASE) if shown and spelling.name_key(shown) else None
    if place is None or sanitise.findings(shown):
        return None
    return spelling.Name(spelling.clean_name(place.group()), place.start(), place.end(), spelling.type_of(shown))


def _whole(name: str) -> str:
    """A pattern for a name that is not part of a longer word, which scripts without blanks do not have."""
    before = r"(?<!\w)" if name[0].isascii() else ""
    return before + re.escape(name) + (r"(?!\w)" if name[-1].isascii() and name[-1].isalnum() else "")
