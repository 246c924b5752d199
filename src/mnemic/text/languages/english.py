"""English grammar for rewriting: verb forms, and changes of person. "I moved with my sister" becomes "User moved with
their sister". "We" becomes the user alone: the others are not named. Quotations are someone's words and stay unchanged.
"""

from mnemic.text.languages import OwnRules, words
from mnemic.text.normalise import any_case, late_pattern

_OWN = OwnRules("en")
MODALS = words("can could will would shall should may might must cannot can't couldn't won't wouldn't shan't oughta")
"""The verb keeps its form after these, negated or not."""

ADVERBS = _OWN.words("adverbs")  # may come between subject and verb, besides words in -ly
_NOT_ADVERBS = words("apply reply rely supply multiply fly comply imply bully rally ally tally sully")
_PRESENT_IN_ED = _OWN.words("present_in_ed")
_PAST = _OWN.words("past")
PARTICIPLES = _OWN.words("participles")  # irregular ones: after 'd they show that it means "had"
_FORMS = _OWN.forms("forms")
_NO_VERBS = words("on in at of about for from with without by to into onto off up out over under as than the a an")
_AND_VERBS = _OWN.words("and_verbs")  # after "and" in the clause of a conjugated verb, these keep its subject


def is_adverb(word: str) -> bool:
    """True for a lower-case word that may precede the verb."""
    return word in ADVERBS or (word.endswith("ly") and word not in _NOT_ADVERBS)


def is_past(word: str) -> bool:
    """True for a verb's past form, lower case; a form equal to the present counts as past."""
    return word in _PAST or (word.endswith("ed") and word not in _PRESENT_IN_ED)


def is_base(word: str) -> bool:
    """True for a lower-case word that would be the present form after "I", if it is a verb."""
    if word in _NO_VERBS:
        return False
    is_gerund = word.endswith("ing") and any(vowel in word[:-3] for vowel in "aeiouy")  # not "sing"
    return word.isalpha() and not is_past(word) and word not in MODALS and word not in _FORMS and not is_gerund


def may_follow_and(word: str) -> bool:
    """True for a verb that continues the same subject after "and"."""
    return word in _AND_VERBS


def with_user(word: str) -> str:
    """The verb form for "User" from that after "I"."""
    lower = word.lower().replace("\u2019", "'")
    if lower in _FORMS:
        return _FORMS[lower]
    return _third(word) if is_base(lower) else word


def _third(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


_TOKEN = _OWN.pattern("token")
_WORDS = _OWN.forms("words")
_AGAIN = {"User's": "their", "User": "them", "themselves": "themselves"}
"""Replacements of the user's name once the clause has it."""

_SUBJECTS = ("i", "we")
_PLURALS: dict[str, str] = {"am": "are", "was": "were", "wasn't": "weren't"}
_ENDINGS = {"m": "am", "ve": "have", "ll": "will", "re": "am"}
_NUMBERED = words("war type part phase stage class grade level volume chapter elizabeth charles act tier")
_INVERTED = {"am": "is", "are": "is", "do": "does", "have": "has", "were": "was"}
_PAIR = any_case(r"^(?:my|our) (?!names?\b)([\w'’-]+(?: [\w'’-]+)?(?:, [\w' ]{2,30},)?) and I\b(?!['’])")
_FRIEND = late_pattern(r"^([A-Z][\w'’-]+) and I\b(?!['’])")
"""The user comes first: "my wife and I" becomes "User and their wife"."""

_ME_AND = any_case(r"^(?:me|myself) and (?P<who>(?:my|our) [\w'’-]+(?: [A-Z][\w'’-]+)?)(?= \w)")
_AND_ME = any_case(r"^(?P<who>(?:my|our) [\w'’-]+(?: [A-Z][\w'’-]+)?) and me\b")
_MYSELF = any_case(r"(?P<who>\b(?:i|we)) (?:myself|ourselves)\b")
_SELF = any_case(
    r"^(?P<who>i(?:['’]m| am| was) an? [^,;]*?)(?<!\b(?:by|of|to|in|on|at))(?<!\bfor)(?<!\b(?:like|than|with))"
    r"(?<!\babout) myself$"
)
_COMPOUND = _OWN.pattern("compound")


def third_person(clause: str) -> str:
    """The clause with the speaker as "User". No string raises."""
    clause = _HAS_DONE.sub(" has", _IS_MINE.sub(" is", spell_out(clause)))
    clause = _MEMBERS.sub(r"\g<being> part of \g<group>", _SELF.sub(r"\g<who>", _MYSELF.sub(r"\g<who>", clause)))
    clause = _AND_ME.sub(r"\g<who> and I", _ME_AND.sub(r"\g<who> and I", clause))
    told = _Rewriting(_FRIEND.sub(r"I and \1", _PAIR.sub(r"I and my \1", clause))).done()
    return _NEGATED.sub("doesn't", told) if _ALONE.match(clause) else told


def spell_out(clause: str) -> str:
    """The clause with the apostrophes that are left out in a hurry: "im", "ive", "dont"."""
    return _HASTY.sub(lambda match: "'".join(filter(None, match.groups())).replace("i'", "I'"), clause)


def is_of_one(clause: str) -> bool:
    """False for clauses only true of a group: "we're eleven", "we know each other"."""
    return _OF_MANY.search(_MEMBERS.sub(" ", clause)) is None


_ALONE = any_case(r"(?:i|we)\b(?!.*\b(?:they|who|which|that|i don't|we don't)\b)")
_NEGATED = any_case(r"(?<=\b(?:and|but) )don't\b")
_HASTY = _OWN.pattern("hasty")  # hasty "I'm"; elsewhere "im" is German, as in the name of a café
_IS_MINE = _OWN.pattern("is_mine")  # not a possessive: "Ben's my boss now"
_HAS_DONE = _OWN.pattern("has_done")
_MEMBERS = _OWN.pattern("members")  # one person of a group is part of it
_OF_MANY = _OWN.pattern("of_many")


_PLAIN = words("am are have do")


def has_compound_subject(clause: str) -> bool:
    """True for a start such as "My wife and I went"; the verb then stays plural."""
    match = _COMPOUND.match(clause)
    if match is None:
        return False
    words = match.group().lower().split()[:-2]
    return not any(is_past(word) or word in _VERBS for word in words[1:])


_VERBS = words("is are was were has have had will can does do likes loves hates lives works wants needs")


class _Rewriting:
    """One pass over the words of a clause."""

    def __init__(self, clause: str) -> None:
        self._tokens = _TOKEN.findall(clause)
        self._is_compound = has_compound_subject(clause)
        self._is_pair = clause.startswith("I and ")
        self._may_go_on = False
        self._is_past = False
        self._is_perfect = False
        self._is_named = False
        self._out: list[str] = []
        self._place = 0

    def done(self) -> str:
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            word, _, ending = token.lower().replace("\u2019", "'").partition("'")
            if word in _SUBJECTS and self._is_subject(token, word, ending):
                self._subject(ending)
            elif word in _WORDS and (not ending or ending == "s") and not self._is_of_a_name(token):
                self._put(self._name_user(_WORDS[word]) + ("'s" if ending else ""))
            elif self._may_go_on and word in ("and", "but"):
                self._and(token)
            else:
                self._may_go_on = self._may_go_on and word not in ("to", ".", ";", ":") and word not in MODALS
                self._put(token)
        return "".join(self._out)

    def _name_user(self, name: str) -> str:
        """Name the user, or use a pronoun if the user is already the clause's subject."""
        return _AGAIN[name] if self._is_named else name

    def _put(self, text: str) -> None:
        self._out.append(text)
        self._place += 1

    def _is_subject(self, token: str, word: str, ending: str) -> bool:
        following = self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else ""
        before = self._word_before()
        if (word == "i" and before in _NUMBERED) or (word == "we" and not ending and self._is_of_a_name(token)):
            return False
        is_numbered = following == "-" and self._tokens[self._place + 2 : self._place + 3] != [" "]  # "I-40"
        return bool(ending) or not (is_numbered or (token[0] == "i" and not following.isspace()))

    def _is_of_a_name(self, token: str) -> bool:
        """True for "US", and the last word of "The Rest of Us": a capital after a word."""
        before = self._out[-2][-1:] if len(self._out) > 1 and self._out[-1].isspace() else ""
        return token.isupper() or (token[0].isupper() and before.isalpha())

    def _word_before(self) -> str:
        said = [token for token in self._tokens[max(0, self._place - 2) : self._place] if not token.isspace()]
        return said[-1].lower() if said else ""

    def _subject(self, ending: str) -> None:
        before = self._word_before()
        is_again = self._is_named
        is_plural = is_again or (self._is_compound and before == "and")
        if before in _INVERTED and self._out and not is_plural:  # "so am I"
            self._out[-2 if self._out[-1].isspace() else -1] = _INVERTED[before]
        self._put("they" if is_again else "User")
        self._is_named = True
        if ending:
            auxiliary = self._had_or_would() if ending == "d" else _ENDINGS.get(ending, ending)
            self._may_go_on = auxiliary in ("am", "have") and not is_plural
            self._is_perfect = auxiliary == "have"
            self._out.append(" " + (_PLURALS.get(auxiliary, auxiliary) if is_plural else with_user(auxiliary)))
        elif before not in _INVERTED and not self._is_pair:
            self._verb(is_plural=is_plural)

    def _verb(self, *, is_plural: bool) -> None:
        """Copy the words up to the verb, and conjugate the verb."""
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            lower = token.lower()
            if token.isspace() or is_adverb(lower):
                self._put(token)
                continue
            if lower[:1].isalpha():
                self._is_past = not is_plural and is_past(lower)
                self._may_go_on = self._is_past or (not is_plural and (is_base(lower) or lower in _PLAIN))
                form: str = (
                    _PLURALS[lower] if is_plural and lower in _PLURALS else token if is_plural else with_user(token)
                )
                self._put(form)
            return

    def _and(self, token: str) -> None:
        """After a verb and "and" or "but", conjugate the next verb for the same subject. After a past verb, only if an
        adverb precedes it: "I sold it and now drive a van".
        """
        self._put(token)
        blank, adverb, *_ = (*self._tokens[self._place : self._place + 2], "", "")
        if has_adverb := blank.isspace() and is_adverb(adverb.lower()):
            self._put(blank)
            self._put(adverb)
        blank, verb, behind = (*self._tokens[self._place : self._place + 3], "", "", "")[:3]
        may_follow = may_follow_and(verb.lower()) and not (self._is_perfect and verb.lower() in PARTICIPLES)
        is_next = blank.isspace() and may_follow and behind.isspace()
        if is_next and (has_adverb or not self._is_past):
            self._put(blank)
            self._put(with_user(verb))

    def _had_or_would(self) -> str:
        rest = [token.lower() for token in self._tokens[self._place : self._place + 6] if token[:1].isalpha()]
        verb = next((word for word in rest if not is_adverb(word)), "")
        is_had = verb == "better" or verb in PARTICIPLES or (verb.endswith("ed") and verb != "need")
        return "had" if is_had else "would"


def tell_order(order: str) -> str:
    """An order with the assistant as "it": "write short lines when you answer me" as "… when it answers me". A verb in
    -ing takes its base form. Reasons and courtesies behind the order are left out. Empty if nobody knows later what it
    points at ("never do that again").
    """
    order = _REASON.sub("", order)
    while (ending := _COURTESY.search(order)) is not None:
        order = order[: ending.start()]
    if _POINTING.search(order):
        return ""
    verb, blank, rest = order.partition(" ")
    if verb.lower().endswith("ing"):
        order = f"{_BASES.get(verb.lower(), verb[:-3])}{blank}{rest}"
    order = _DOING.sub(lambda match: f"{match['when']} it {with_user(match['verb'])}", order)
    order = _ASSISTANT.sub(lambda match: "its" if match[0].lower() == "your" else "it", order)
    return order[:1].lower() + order[1:]


_BASES = {word: f"{word[:-3]}e" for word in words("using writing giving apologizing apologising")}
_REASON = _OWN.pattern("order_reason")
_COURTESY = _OWN.pattern("order_courtesy")
_POINTING = _OWN.pattern("order_pointing")
_DOING = _OWN.pattern("order_doing")
_ASSISTANT = any_case(r"\byour?\b")


def first_person(sentence: str) -> str:
    """The sentence as the user would say it: "I am training for my race" for "You are training for your race"."""
    out = _BEING.sub(lambda match: f"I {_AUXILIARIES[match[1].lower()]}", sentence)
    out = _CONTRACTED.sub(lambda match: f"I {_AUXILIARIES[match[1].lower()]}", out)
    out = _ADDRESSED.sub("me", _OBJECT.sub(lambda match: f"{match[1]} me", out))
    return _PERSON.sub(lambda match: _PERSONS[match[0].lower()], out)


_AUXILIARIES = {"are": "am", "were": "was", "re": "am", "ve": "have", "d": "had", "ll": "will"}
_PERSONS = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
_BEING = any_case(r"\byou (are|were)\b")
_CONTRACTED = any_case(r"\byou['’](re|ve|d|ll)\b")
_OBJECT = _OWN.pattern("object")
"""After these, "you" is no subject, and no verb of it follows."""

_ADDRESSED = _OWN.pattern("addressed")
_PERSON = any_case(r"\b(?:yourself|yours|your|you)\b")
