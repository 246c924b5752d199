"""Reads relations from parsed sentences: from verbs with their subjects and objects, active or passive, appositions
("Ana, the head of Acme"), possessives and places behind names. The phrases are those of `words.toml`. Pronouns stand
for the last subject that fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mnemic.model.graph import EntityType, Word
from mnemic.text.graph import names as spelling

LABELS = {
    "PERSON": EntityType.PERSON,
    "ORG": EntityType.ORGANISATION,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "LAW": EntityType.POLICY,
    "EVENT": EntityType.EVENT,
}
"""The types of the parser's labels. It takes products for anything, so that their label says nothing."""

_NO_NAME = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "MONEY", "PERCENT", "QUANTITY", "NORP", "LANGUAGE"))
MOST_WORDS = 150  # of a sentence whose relations are read: a longer one is a list, and deep to walk
_SUBJECTS = ("nsubj", "nsubjpass")
_HE = frozenset(("he", "him", "his", "she", "her"))
_IT = frozenset(("it", "its"))
_RELATIVE = frozenset(("who", "whom", "whose", "which", "that"))
_SEATS = frozenset(("office", "offices", "headquarters", "seat"))
_PLACED = frozenset(("in", "from", "at", "near"))
_BEGINS_PLACE = {"in": "located in", "at": "located in", "near": "located in", "from": "born in"}
Link = tuple[spelling.Name, spelling.Name, str]
"""Two names and the phrase from the first to the second."""


class Types(Protocol):
    """What a text says of its names so far."""

    def type_of(self, key: str) -> EntityType:
        """The type with the most evidence."""
        ...


def names_of(text: str, words: Sequence[Word]) -> list[spelling.Name]:
    """The names of a sentence: those written with capitals, and others that the parser labels. A single word at the
    beginning must be a labelled subject. Words of time, number or nationality are not names.
    """
    found: list[spelling.Name] = []
    for name in spelling.names_in(text, words[0].start, words[-1].end):
        inside = [word for word in words if name.start <= word.start < name.end]
        if inside and not all(word.label in _NO_NAME for word in inside):
            is_alone = name.start == words[0].start and len(inside) == 1  # its capital says nothing, nor does a label
            is_proper = any(
                word.relation in _SUBJECTS and word.label if is_alone else word.label or word.tag == "PROPN"
                for word in inside
            )
            found.append(replace(name, is_sure=name.is_sure or is_proper))
    for place, word in enumerate(words):
        is_taken = any(name.start <= word.start < name.end for name in found)
        table = spelling.load_words()
        is_opener = word.text.lower() in (table.openers if place else table.openers | table.alone)
        if word.label in LABELS and word.tag == "PROPN" and not (is_taken or is_opener):
            last = next((n for n in range(place, len(words)) if words[n].label != word.label), len(words)) - 1
            shown = spelling.clean_name(text[word.start : words[last].end])
            if spelling.name_key(shown):
                found.append(spelling.Name(shown, word.start, words[last].end, is_sure=True))
    return found


def evidence(name: spelling.Name, words: Sequence[Word]) -> Iterator[tuple[EntityType, int]]:
    """The types that the parser's labels tell of a name: surer for names of several words."""
    inside = [word for word in words if name.start <= word.start < name.end]
    for label in dict.fromkeys(word.label for word in inside):
        if label in LABELS:
            yield LABELS[label], 2 if len(inside) > 1 else 1


@dataclass(slots=True)
class Sentence:
    """The words of one sentence and its names. `persons` and `things`: the last subjects of the text so far, which
    pronouns may mean.
    """

    words: Sequence[Word]
    names: Sequence[spelling.Name]
    findings: Types
    persons: list[spelling.Name]
    things: list[spelling.Name]

    def children(self, head: int, *relations: str) -> list[int]:
        """The words that depend on a word in one of these ways, in order."""
        return [
            n for n, word in enumerate(self.words) if word.head == head and n != head and word.relation in relations
        ]

    def links(self) -> Iterator[Link]:
        """The links that the sentence states."""
        for place, word in enumerate(self.words):
            if word.tag in ("VERB", "AUX"):
                yield from self._of_verb(place)
            elif word.tag in ("NOUN", "PROPN"):
                yield from self._of_noun(place)

    def note_subjects(self) -> None:
        """Remember the names that the next sentence's pronouns may mean."""
        for place in range(len(self.words)):
            if self.words[place].relation not in _SUBJECTS and self.words[place].tag != "PROPN":
                continue
            is_subject = self.words[place].relation in _SUBJECTS
            for name in self._meant(place)[:1] if is_subject else self._direct(place):
                kept = self.persons if self._is_person(name) else self.things
                if self.findings.type_of(name.key) is not EntityType.PLACE and (is_subject or not kept):
                    kept.append(name)

    def _is_person(self, name: spelling.Name) -> bool:
        return self.findings.type_of(name.key) is EntityType.PERSON

    def _direct(self, place: int) -> list[spelling.Name]:
        """The name that a word is part of."""
        word = self.words[place]
        return [name for name in self.names if name.start <= word.start < name.end][:1]

    def _meant(self, place: int) -> list[spelling.Name]:
        """The names that a word stands for, with the ones joined to it: its own, a pronoun's, or the one beside it."""
        word, found = self.words[place], self._direct(place)
        lower = word.text.lower()
        if not found and lower in _HE:
            found = self.persons[-1:]
        elif not found and lower in _IT:
            found = self.things[-1:]
        elif not found and lower in _RELATIVE:
            found = [name for name in self.names if name.end <= word.start][-1:]
        elif not found and word.tag == "NOUN":
            found = self._beside(place) or self._known(place)
        found = [
            replace(name, start=word.start, end=word.end) if not name.start <= word.start else name for name in found
        ]
        return found + [name for n in self.children(place, "conj") for name in self._meant(n)]

    def _beside(self, place: int) -> list[spelling.Name]:
        """The name beside a noun: "the library Oxide", "a bakery called Kornhuset"; for its office, whose it is."""
        beside = self.children(place, "appos", "compound", "nmod")
        called = [n for n in self.children(place, "acl") if self.words[n].text.lower() in ("named", "called")]
        beside += [each for n in called for each in self.children(n, "oprd", "dobj", "attr")]
        found = [each for n in beside for each in self._direct(n)][-1:]
        if not found and self.words[place].text.lower() in _SEATS:
            return [name for n in self.children(place, "poss") for name in self._meant(n)]
        return found

    def _known(self, place: int) -> list[spelling.Name]:
        """The last organisation, for "the company" and the like."""
        kind = spelling.load_words().kinds.get(self.words[place].text.lower())
        has_article = any(self.words[n].text.lower() in ("the", "this") for n in self.children(place, "det"))
        if kind is not EntityType.ORGANISATION or not has_article or self.children(place, "prep", "acl", "relcl"):
            return []
        return [name for name in self.things if self.findings.type_of(name.key) is kind][-1:]

    def _subjects(self, verb: int) -> list[spelling.Name]:
        """The subjects of a verb: its own, those of the verb that it continues, or the noun that it describes."""
        own = self.children(verb, *_SUBJECTS)
        word = self.words[verb]
        relative = word.relation in ("relcl", "acl")
        if own and not (relative and self.words[own[0]].text.lower() in _RELATIVE):
            return [name for n in own for name in self._meant(n)]
        if relative:
            return self._described(word.head)
        if word.relation in ("conj", "xcomp", "advcl", "dep", "ccomp") and word.head != verb:
            return self._subjects(word.head)
        return []

    def _described(self, noun: int) -> list[spelling.Name]:
        """The names behind a noun that is explained: its own, or the one that it stands beside or is said of."""
        word = self.words[noun]
        found = self._meant(noun)
        if not found and word.relation in ("appos", "attr", "conj"):
            found = self._subjects(word.head) if word.relation == "attr" else self._described(word.head)
        return found[:1] if word.relation != "attr" else found

    def _of_verb(self, verb: int) -> Iterator[Link]:
        word, subjects = self.words[verb], self._subjects(verb)
        if any(self.words[n].relation == "neg" for n in range(len(self.words)) if self.words[n].head == verb):
            return
        said = word.text.lower()
        if word.relation == "xcomp" and self.words[word.head].text.lower() == "used":
            said = f"used to {said}"
        objects = [name for n in self.children(verb, "dobj", "oprd", "attr") for name in self._meant(n)]
        if word.relation == "relcl" and not self.children(verb, "nsubjpass") and not objects:
            own = [self.words[n].text.lower() for n in self.children(verb, "nsubj")]
            if own and own[0] not in _RELATIVE:
                objects = self._described(word.head)
        yield from ((one, other, said) for one in subjects for other in objects)
        for holder in (verb, *self.children(verb, "acomp", "dobj", "attr", "prt", "oprd", "advmod")):
            lead = said if holder == verb else self.words[holder].text.lower()
            yield from self._prepositions(subjects, holder, lead)
        for noun in self.children(verb, "attr"):
            yield from self._role(noun, subjects)

    def _prepositions(self, subjects: Sequence[spelling.Name], holder: int, lead: str) -> Iterator[Link]:
        """The subjects with the names behind the prepositions of a verb, adjective or noun."""
        for prep in self.children(holder, "prep", "agent", "dative"):
            for place in self.children(prep, "pobj", "pcomp"):
                if self.words[prep].text.lower() == "as":
                    yield from self._role(place, subjects)
                phrase = f"{lead} {self.words[prep].text.lower()}"
                names = self._meant(place)
                if not names and self.words[place].tag == "NOUN":  # a member of the board of Acme
                    inner = [n for each in self.children(place, "prep") for n in self.children(each, "pobj")]
                    names = [name for n in inner for name in self._meant(n)]
                yield from ((one, other, phrase) for one in subjects for other in names)

    def _of_noun(self, noun: int) -> Iterator[Link]:
        word = self.words[noun]
        if word.relation == "appos":
            yield from self._role(noun, self._described(word.head))
        own = self._direct(noun) or (self._beside(noun) if word.tag == "NOUN" else [])
        for one in own if word.relation != "appos" else ():
            yield from self._role(noun, [one])
        for holder in self.children(noun, "poss"):
            owned = own or self._meant(noun)
            yield from ((one, other, f"'s {self._noun_of(noun)}") for one in self._meant(holder) for other in owned)
            if word.relation in _SUBJECTS and not own:  # Her manager is Stefan
                said = [name for n in self.children(word.head, "attr") for name in self._meant(n)]
                yield from ((one, other, f"'s {word.text.lower()}") for one in self._meant(holder) for other in said)

    def _noun_of(self, noun: int) -> str:
        """The common noun of "his wife Nora"."""
        if self.words[noun].tag == "NOUN":
            return self.words[noun].text.lower()
        common = (
            self.words[n].text.lower() for n in self.children(noun, "compound", "nmod", "appos") if not self._direct(n)
        )
        return next(common, "")

    def _role(self, noun: int, names: Sequence[spelling.Name]) -> Iterator[Link]:
        """What a noun says of names: "the head of Acme", "a firm in Cork", "Ana's manager"."""
        said = self.words[noun].text.lower()
        kind = spelling.load_words().kinds.get(said)
        for prep in self.children(noun, "prep"):
            lead = self.words[prep].text.lower()
            others = [name for n in self.children(prep, "pobj") for name in self._meant(n)]
            is_named = bool(self._direct(noun))
            for one in names:
                for other in others:
                    if lead in _PLACED and self.findings.type_of(other.key) is EntityType.PLACE:
                        is_person = self._is_person(one)
                        yield one, other, _BEGINS_PLACE[lead] if is_person == (lead == "from") else "located in"
                    elif lead in ("at", "for") and kind is EntityType.PERSON and not is_named:
                        yield one, other, "works at"
                    else:
                        yield one, other, f"{said} {lead}"
        if not self._direct(noun):
            for holder in self.children(noun, "poss"):
                yield from ((one, other, f"'s {said}") for one in self._meant(holder) for other in names)
