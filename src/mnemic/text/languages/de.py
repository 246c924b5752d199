"""German: what of its rules only code can say; the rest stands in `de.toml`."""

import re

from mnemic.text.languages import any_case, read_language, words
from mnemic.text.normalise import late_pattern

_QUOTED = late_pattern(r"„[^“”\"]*[“”\"]|\"[^\"]*\"|»[^«]*«|«[^»]*»")
_TOKEN = late_pattern(r"[^\W\d_]+|\W|[\d_]+")
_OWNED = {f"{stem}{ending}": "Users" for stem in ("mein", "unser") for ending in ("", "e", "en", "em", "er", "es")}
_PERSONS: dict[str, str] = {"mich": "User", "mir": "User", "uns": "User"} | _OWNED
_FORMS = {
    "bin": "ist", "habe": "hat", "hab": "hat", "werde": "wird", "kann": "kann", "mag": "mag", "will": "will",
    "muss": "muss", "darf": "darf", "soll": "soll", "weiß": "weiß", "war": "war", "hatte": "hatte", "wurde": "wurde",
    "esse": "isst", "lese": "liest", "spreche": "spricht", "fahre": "fährt", "trage": "trägt", "sehe": "sieht",
    "gebe": "gibt", "nehme": "nimmt", "treffe": "trifft", "laufe": "läuft", "schlafe": "schläft", "halte": "hält",
    "arbeite": "arbeitet", "warte": "wartet", "miete": "mietet", "heirate": "heiratet", "leite": "leitet",
    "sammle": "sammelt", "bastle": "bastelt",
}  # fmt: skip
"""Verbs whose third person does not follow from the first; those in -te here are no past."""

_SHORTEST_VERB = 4
"""Shorter words in -e are articles and pronouns."""

_NO_VERBS = words(
    "heute gerne bitte eine keine diese jede alle viele beide seine ihre deine meine unsere welche letzte nächste ohne "
    "gerade sogar lange leise beinahe die sie wie nie hatte"
)
"""Words in -e that stand beside a subject and are no verb."""


def _conjugate(verb: str) -> str:
    """The form that goes with "User" of one that goes with "ich"; other words stay."""
    lower = verb.lower()
    form = _FORMS.get(lower)
    if form is None:
        if not _is_present(lower):
            return verb
        stem = lower[:-1]
        form = stem + ("et" if stem.endswith(("d", "t")) else "t")
    return form.capitalize() if verb[0].isupper() else form


def _of_one(verb: str) -> str:
    """The form that goes with "ich" of one that goes with "wir"."""
    lower = verb.lower()
    if lower in _OF_ONE:
        return _OF_ONE[lower]
    return lower[:-1] if lower.endswith("en") and lower not in _NO_VERBS else verb


_OF_ONE = {
    "sind": "bin", "haben": "habe", "waren": "war", "hatten": "hatte", "wollen": "will", "können": "kann",
    "müssen": "muss", "sollen": "soll", "dürfen": "darf", "mögen": "mag", "wurden": "wurde", "möchten": "möchte",
}  # fmt: skip


def _is_present(word: str) -> bool:
    return len(word) >= _SHORTEST_VERB and word.endswith("e") and not word.endswith("te") and word not in _NO_VERBS


def third_person(clause: str) -> str:
    """The clause with the speaker as User: "Ich wohne in Wien" becomes "User wohnt in Wien". No string raises."""
    pieces: list[str] = []
    done = 0
    for quoted in _QUOTED.finditer(clause):
        pieces += [_rewrite(clause[done : quoted.start()]), quoted.group()]
        done = quoted.end()
    return "".join([*pieces, _rewrite(clause[done:])])


def _rewrite(clause: str) -> str:
    tokens = [match.group() for match in _TOKEN.finditer(clause)]
    out: list[str] = [_PERSONS.get(token.lower(), token) for token in tokens]
    for place, token in enumerate(tokens):
        if token.lower() in ("ich", "wir"):
            out[place] = "User"
            verb = _verb_place(tokens, place)
            if verb is not None:
                out[verb] = _conjugate(tokens[verb] if token.lower() == "ich" else _of_one(tokens[verb]))
    return "".join(out)


def _verb_place(tokens: list[str], subject: int) -> int | None:
    """Where the verb of a subject stands: beside it, or last ("weil ich in Wien wohne")."""
    behind = [place for place in range(subject + 1, len(tokens)) if tokens[place][0].isalpha()]
    before = [place for place in range(subject) if tokens[place][0].isalpha()]
    for place in (*before[-1:], *behind[:1], *behind[-1:]):
        word = tokens[place].lower()
        if (
            word in _FORMS
            or word in _OF_ONE
            or _is_present(word)
            or (word.endswith(("te", "en")) and place in behind[:1])
        ):
            return place
    return None


_I = r"(?:ich|wir)"
_VERB = any_case(rf"\b{_I}\s+\w+|\b\w+(?:e|t|en|bin|war)\s+{_I}\b|\b(?:ist|sind|war|hat|haben|heißt|wohnt|hatte|kam)\b")
_SUBORDINATE = any_case(r"(?:weil|dass|als|obwohl|da|seit|während|bevor|nachdem|damit|wo)\b")
_PARTICIPLE = (
    r"(?!(?:gegen|gehen|geben|geht|gelten|gestern|gehört|gesund\w*|genau|gebucht|geplant|angesetzt|eingeladen)\b)"
    r"(?:\w*ge\w+(?:t|en)|\w{2,}iert|(?:um|an|ein|auf|ab|aus|zu|nach|vor|weg)?(?:be|ver|er|ent|zer)\w{2,}(?:t|en))"
)
_PAST = any_case(
    rf"\b(?:habe?|hat|bin|ist|haben|sind|hast)\b.*\b{_PARTICIPLE}\b(?=\s*(?:[,.;:!)]|$|und\b|aber\b|weil\b|dass\b))"
    r"|\b(?:war|waren|hatten?|wurden?|ging|gingen|kam|kamen|traf|trafen|sah|sahen|fuhr|fuhren|flog|flogen|zog|zogen|fand"
    r"|fanden|bekam|bekamen|nahm|nahmen|gab|blieb|blieben|starb|begann|begannen|kaufte\w?|machte\w?|lernte\w?|feierte\w?"
    r"|heiratete\w?|seit)\b"
    r"|\b(?:ich|wir|er|sie)\s+(?!(?:möchte|könnte|sollte|wollte|müsste|dürfte|hätte|arbeite|warte|miete|leite|starte|heute"
    r"|heirate|halte|biete|trete|bitte|rate)n?\b)[a-zäöüß]{2,}ten?\b(?<!heiraten)(?<!arbeiten)(?<!warten)(?<!halten)"
)

_BECOMES = {"bist": "bin", "hast": "habe", "warst": "war", "hattest": "hatte"} | {
    "du": "ich",
    "dich": "mich",
    "dir": "mir",
}
_YOU = any_case(
    r"\b(?:(?P<owned>dein)(?P<ending>\w{0,2})|(?P<word>bist|hast|warst|hattest|du|dich|dir)|(?<=du "
    r")(?P<stem>\w+?)e?st)\b"
)


def first_person(sentence: str) -> str:
    """For "Du wohnst in Wien" this is "ich wohne in Wien"."""
    return _YOU.sub(
        lambda match: (
            f"mein{match['ending']}"
            if match["owned"]
            else _BECOMES[match["word"].lower()]
            if match["word"]
            else f"{match['stem']}e"
        ),
        sentence,
    )


def _keeps_together(left: str, _sentence: str, cut: re.Match[str]) -> bool:
    is_tied = _SUBORDINATE.match(left) is not None and cut.group().strip() == ","
    return is_tied or _VERB.search(left) is None


def _is_past(folded: str) -> bool:
    return _PAST.search(folded) is not None


def _plural(who: str, verb: str) -> str:
    return f"{verb[:-1]}en" if who.endswith("andere") else verb


LANGUAGE = read_language(
    "de",
    third_person=third_person,
    statements={"keeps_together": _keeps_together},
    dates={"is_past": _is_past},
    restating={"first_person": first_person},
    choices={"plural": _plural},
)
