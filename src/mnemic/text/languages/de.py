"""German: what the rules know of it."""

from __future__ import annotations

import re

from mnemic.model.item import Kind
from mnemic.text.languages import (
    TECHNICAL,
    ChoiceRules,
    DateRules,
    GemRules,
    Language,
    NameRules,
    RestatingRules,
    SalienceRules,
    SlotRules,
    StatementRules,
    any_case,
    cue,
    rules,
    words,
)
from mnemic.text.late_pattern import late_pattern

_QUOTED = late_pattern(r"„[^“”\"]*[“”\"]|\"[^\"]*\"|»[^«]*«|«[^»]*»")
_TOKEN = late_pattern(r"[^\W\d_]+|\W|[\d_]+")
_OWNED = {f"{stem}{ending}": "Users" for stem in ("mein", "unser") for ending in ("", "e", "en", "em", "er", "es")}
_PERSONS: dict[str, str] = {"mich": "User", "mir": "User", "wir": "User und andere", "uns": "User und andere"} | _OWNED
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
        if token.lower() == "ich":
            out[place] = "User"
            verb = _verb_place(tokens, place)
            if verb is not None:
                out[verb] = _conjugate(tokens[verb])
    return "".join(out)


def _verb_place(tokens: list[str], subject: int) -> int | None:
    """Where the verb of a subject stands: beside it, or last ("weil ich in Wien wohne")."""
    behind = [place for place in range(subject + 1, len(tokens)) if tokens[place][0].isalpha()]
    before = [place for place in range(subject) if tokens[place][0].isalpha()]
    for place in (*before[-1:], *behind[:1], *behind[-1:]):
        word = tokens[place].lower()
        if word in _FORMS or _is_present(word) or (word.endswith("te") and place in behind[:1]):
            return place
    return None


_I = r"(?:ich|wir)"
_QUESTIONS = r"was|wer|wen|wem|wo|woher|wohin|wann|warum|wieso|weshalb|wie|welche[rnsm]?"
_ASKED = r"kannst|könntest|könnten|würdest|würden|hast|bist|weißt|gibt|soll|sollte|darf|kennst|magst"
_STATEMENTS = StatementRules(
    opening=any_case(
        r"(?:(?:ja|nein|hallo|hi|hey|servus|moin|guten (?:morgen|tag|abend)|danke(?: schön| dir)?|vielen dank"
        r"|okay|ok|also"
        r"|übrigens|genau|stimmt|klar|super|toll|ach|na ja|naja|leider|zum glück|außerdem)\s*[,!.:;–—-]+\s+"
        rf"|(?:übrigens|außerdem|und|aber|also|denn)\s+(?={_I}\b|mein|unser)|(?:merk dir|denk "
        rf"daran)[,:]?\s+(?:dass\s+)?)+"
    ),
    refused=any_case(
        rf"[?？][\"“”’)\]]*\s*$|^(?:{_QUESTIONS}|{_ASKED})\b|\b(?:{_I} frage? mich|ob {_I}|wenn {_I}|falls {_I})\b"
        r"|^(?:bitte|erzähl|schreib|übersetz|erklär|zeig|gib|sag|nenn|hilf|mach|such|fass|vergiss|empfiehl|erstell|lass"
        r"|prüf|rechne|ignorier|tu so)\w{0,3}\b"
        r"|^(?:danke|dankeschön|vielen dank|tschüss|auf wiedersehen|guten|gute nacht|hallo|servus|moin|bis (?:bald|dann"
        r"|morgen)|alles klar|gern geschehen)\b"
        r"|\b(?:vielleicht|womöglich|eventuell|hoffentlich|möglicherweise)\b|\bich (?:könnte|würde|hätte gern"
        r"|wünschte)\b"
        r"|\bich (?:brauche|suche|möchte|hätte) (?:\w+ ){0,3}(?:hilfe|rat|tipps|vorschläge|empfehlungen|ideen|wissen)\b"
        r"|\b(?:du (?:hast|bist|kannst|sagtest|meintest)|hast du|kannst du)\b"
        r"|\bdein(?:e|en|er|em)? (?:antwort|vorschlag|vorschläge|rat|tipps?|hilfe|ideen?|erklärung)\b"
        r"|\bich (?:verstehe|stimme (?:dir )?zu|probiere (?:das|es)|freue mich auf (?:deine|unser))\b|\bnur spaß\b"
        r"|\bzum beispiel\b|[„\"][^“”\"]*\b(?:ich|mein\w*|wir)\b[^“”\"]*[“”\"]"
    ),
    condition=any_case(r"^(?:wenn|falls|angenommen|mal angenommen|nehmen wir an|stell dir vor|als ob)\b"),
    material=any_case(
        r"\b(?:übersetz|korrigier|verbesser|formulier|fass|überarbeit)\w{0,3}\b.*(?::\s*$|:\s+\S"
        r"|\b(?:folgende[nrs]?|dies"
        r"(?:en|e|es)) (?:text|absatz|satz|brief))|\b(?:schreib|verfass)\w{0,2} (?:mir |uns )?(?:ein(?:e|en)? "
        r")?(?:\w+ )?"
        r"(?:geschichte|gedicht|lied|brief|essay|rede|bewerbung)\b|\bdu bist (?:jetzt|ab jetzt)\b"
    ),
    own_label=any_case(r"(?:notiz|hinweis|nachtrag|ps|übrigens|info|hintergrund|kontext)\b"),
    cut=any_case(
        rf"(?:\s*[;–—]\s*|,?\s+(?:und|aber|doch|außerdem|dann)\s+|,\s+)(?=(?:{_I}|mein(?:e|en)?|unsere?)\b"
        rf"|(?:{_ASKED})\b"
        rf"|(?:{_QUESTIONS})\b[^,]*\?)"
    ),
    keeps_together=lambda left, _sentence, cut: (
        _VERB.search(left) is None or (_SUBORDINATE.match(left) is not None and cut.group().strip() == ",")
    ),
)
_VERB = any_case(rf"\b{_I}\s+\w+|\b\w+(?:e|t|en|bin|war)\s+{_I}\b|\b(?:ist|sind|war|hat|haben|heißt|wohnt|hatte|kam)\b")
_SUBORDINATE = any_case(r"(?:weil|dass|als|obwohl|da|seit|während|bevor|nachdem|damit|wo)\b")
_KINDS = (
    (
        Kind.GOAL,
        any_case(
            r"\b(?:ich|wir) (?:\w+ )?(?:will|wollen|möchten?|planen?|hoffen?|werden?|haben? vor)\b"
            r"|\b(?:will|möchte|plane|werde) ich\b|\bmein(?:e|en)? (?:\w+ )?(?:ziel|traum|plan|vorsatz)\b"
        ),
    ),
    (
        Kind.PREFERENCE,
        any_case(
            r"\b(?:ich|wir) (?:\w+ )?(?:mag|mögen|lieben?|hassen?|bevorzugen?|verabscheuen?|meiden?)\b|\b(?:mag"
            r"|liebe|hasse)"
            r" ich\b|\b(?:gern|gerne|lieber|am liebsten)\b|\blieblings\w+|\ballergisch\b|\bnicht (?:ausstehen|leiden)\b"
        ),
    ),
    (
        Kind.EVENT,
        any_case(
            r"\b(?:habe?|bin|haben|sind|wurden?|hatten?)\b.*\b(?:\w*ge\w+(?:t|en)|\w+iert|(?:be|ver|er|ent"
            r"|zer)\w+(?:t|en))\b"
        ),
    ),
    (Kind.CONTEXT, any_case(r"\b(?:zurzeit|derzeit|momentan|gerade|aktuell|im moment|diese woche|diesen monat)\b")),
)

_W = r"[A-ZÄÖÜ][\w’.-]*\w"
_TITLE = rf"{_W}(?:[ ]{_W}){{0,3}}"
_PLACE = rf"{_W}(?:[ ](?:am|an[ ]der|ob[ ]der)[ ]{_W}|[ ]{_W}){{0,2}}"
_NOW = r"(?:(?:jetzt|nun|derzeit|zurzeit|aktuell|gerade|seit[ ]\w+(?:[ ]\w+)?|immer[ ]noch|noch|auch)[ ])?"
_DONE = r"(?=[ ]*(?:[,.;:!)–—]|$|[ ](?:und|aber|mit|seit|in|bei|als|wo|weil|zur|im)\b))"
_MONTHS = "januar jänner,februar feber,märz,april,mai,juni,juli,august,september,oktober okt,november,dezember dez"
_MONTH = "|".join(name.capitalize() for name in re.split("[ ,]", _MONTHS))
_DATE = rf"\d{{1,2}}\.[ ]?(?:(?:{_MONTH})|\d{{1,2}}\.)(?:[ ]?\d{{4}})?"
_TRADE = r"[A-ZÄÖÜ][\wäöüß-]+(?:[ ]für[ ][A-ZÄÖÜ][\wäöüß-]+)?"
_ICH = r"\b[Ii]ch[ ]"
_FEELINGS = {"mag": "like", "liebt": "love", "hasst": "hate", "verabscheut": "hate", "mag kein": "dislike"} | {
    f"mag kein{ending}": "dislike" for ending in ("e", "en")
}
_SLOTS = SlotRules(
    plain=rules(
        ("name", rf"(?:{_ICH}heiße|\b[Mm]ein[ ](?:voller[ ]|ganzer[ ])?Name[ ]ist)[ ](?P<value>{_TITLE}){_DONE}"),
        ("name", rf"\b[Nn]enn[ ]mich[ ](?:bitte[ ])?(?P<value>{_W}){_DONE}"),
        ("home", rf"(?:{_ICH}(?:wohne|lebe)|\b[Ww]ohne[ ]ich)[ ]{_NOW}in[ ](?P<value>{_PLACE}){_DONE}"),
        ("job", rf"{_ICH}arbeite[ ]{_NOW}als[ ](?P<value>{_TRADE}){_DONE}"),
        ("job", rf"{_ICH}bin[ ]{_NOW}(?P<value>{_TRADE})[ ]von[ ]Beruf{_DONE}"),
        (
            "employer",
            rf"{_ICH}arbeite[ ]{_NOW}(?:als[ ]{_TRADE}[ ])?(?:bei|für)[ ](?:der[ ]|dem[ ])?(?P<value>{_TITLE}){_DONE}",
        ),
        ("language", rf"{_ICH}spreche[ ](?:fließend[ ])?(?P<value>{_W}(?:(?:,[ ]|[ ]und[ ]){_W}){{0,4}}){_DONE}"),
        ("language", rf"\b[Mm]eine[ ]Muttersprache[ ]ist[ ](?P<value>{_W}){_DONE}"),
        ("birthday", rf"\b[Mm]ein[ ]Geburtstag[ ]ist[ ](?:am|der)[ ](?P<value>{_DATE}){_DONE}"),
        ("birthday", rf"{_ICH}(?:habe[ ]am|bin[ ]am)[ ](?P<value>{_DATE})[ ](?:Geburtstag|geboren)"),
    ),
    commission=any_case(
        r"```|^\s*>|\b(?:übersetz\w*|schreib\w*|verfass\w*|formulier\w*|gedicht|geschichte|roman|szene|dialog"
        r"|brief|rolle"
        r"|figur|zitat|beispiel|lebenslauf|e-?mail|betreff)\b"
    ),
    unsure=any_case(
        r"[?？\"“”„«»]|\b(?:nicht|nie|niemals|kein\w*|ohne|wenn|ob|falls|würde|könnte|sollte|vielleicht|hoffe"
        r"|möchte|will"
        r"|wollte|plane|träume|sagt\w*|sagte\w*|erzählt\w*|meint\w*|früher|damals|einst|bis|bevor|als ich|war"
        r"|hatte|er|sie"
        r"|sein\w*|ihr\w*|jemand|vorübergehend)\b"
    ),
    first_person=any_case(r"\b(?:ich|mein\w{0,2}|mich|mir)\b"),
    loose=rules(
        (
            "home",
            rf"\b(?:[Ii]ch[ ]bin|[Bb]in[ ]ich)[ ](?:[^,.;]{{1,40}}?[ ])?nach[ ](?P<value>{_PLACE})[ ](?:um)?gezogen",
        ),
        ("home", rf"\b(?:[Ii]ch|[Ww]ir)[ ](?:wohnen?|leben?)[ ]{_NOW}in[ ](?P<value>{_PLACE})"),
        ("job", rf"{_ICH}bin[ ]{_NOW}(?P<value>{_TRADE})[ ](?:bei|für|an[ ]der|am)[ ](?:der[ ]|dem[ ])?{_W}"),
        ("job", rf"{_ICH}(?:habe|arbeite)[ ](?:[^,.;]{{1,40}}?[ ])?als[ ](?P<value>{_TRADE})(?:[ ]angefangen|$|[,.])"),
        (
            "employer",
            (
                rf"{_ICH}(?:habe[ ](?:[^,.;]{{1,30}}?[ ])?bei|arbeite[ ]{_NOW}bei)[ ](?P<value>{_TITLE})(?:"
                rf"[ ]angefangen|$|[,.])"
            ),
        ),
        ("age", r"\b[Ii]ch[ ]bin[ ](?:jetzt[ ])?(?P<value>\d{1,2})(?:[ ]Jahre[ ]alt)?(?=$|[,.]|[ ]und\b)"),
        (
            "diet",
            (
                r"\b[Ii]ch[ ](?:bin|lebe|esse)[ ](?:jetzt[ ])?(?P<value>Vegetarier(?:in)?|Veganer(?:in)?"
                r"|vegetarisch|vegan)\b"
            ),
        ),
        (
            "relationship",
            (
                r"\b[Ii]ch[ ]bin[ ](?:jetzt[ ]|frisch[ ])?(?P<value>verheiratet|geschieden|verlobt|verwitwet|ledig"
                r"|single|Single)\b"
            ),
        ),
    ),
    doubt=any_case(r"\b(?:nicht|nie|fast|beinahe|will|möchte|früher|damals|bevor|als ich|ich war)\b"),
    favourite=late_pattern(
        r"\b[Mm]eine?[ ]Lieblings(?P<thing>[a-zäöüß]+)[ ](?:ist|sind)[ ](?:jetzt[ ])?(?P<value>[^,.;]{2,60})$"
    ),
    told=rules(
        ("home", rf"User[ ](?:wohnt|lebt)[ ]{_NOW}in[ ](?P<value>{_PLACE})"),
        ("home", rf"User[ ]ist[ ](?:[^,.;]{{1,40}}?[ ])?nach[ ](?P<value>{_PLACE})[ ](?:um)?gezogen"),
        ("name", rf"(?:User[ ]heißt|Users[ ]Name[ ]ist)[ ](?P<value>{_TITLE})"),
        ("job", rf"User[ ]arbeitet[ ]{_NOW}als[ ](?P<value>{_TRADE})"),
        ("employer", rf"User[ ]arbeitet[ ]{_NOW}(?:bei|für)[ ](?P<value>{_TITLE})"),
        ("birthday", rf"Users[ ]Geburtstag[ ]ist[ ](?:am|der)[ ](?P<value>{_DATE})"),
    ),
    change=late_pattern(r"[ ](?:um)?gezogen$"),
    feels=late_pattern(
        rf"User[ ](?:jetzt[ ])?(?P<feeling>{'|'.join(sorted(_FEELINGS, key=len, reverse=True))})[ ]"
        r"(?P<object>[^,;:.!?]{1,60})"
    ),
    feelings=_FEELINGS,
    open_end=any_case(r"\b(?:und|aber|wenn|weil|bis|obwohl|oder|als)\b"),
    begins_first_person=("Ich ", "Mein ", "Meine "),
)

_ONE_TO_TWELVE = "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
_COUNTS = {word: count for count, word in enumerate(_ONE_TO_TWELVE.split(), start=1)}
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)}|eine[rmn]?|ein paar|wenigen)"
_UNIT = r"(?P<unit>tag|woche|monat|jahr)(?:e|en|n|s)?"
_STEPS = {
    f"{stem}{ending}": step
    for stem, step in (("letzte", "last"), ("vergangene", "last"), ("vorige", "last"), ("diese", "this"),
                       ("nächste", "next"), ("kommende", "coming"))
    for ending in ("", "n", "r", "s", "m")
}  # fmt: skip
_STEP = rf"(?P<step>{'|'.join(sorted(_STEPS, key=len, reverse=True))})"
_WEEKDAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag"
_DAYS = {"vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2}
_PAST = any_case(
    r"\b(?:habe?|hat|bin|ist|haben|sind|war|waren|hatten?|wurden?|ging|kam|traf|sah|fuhr|flog|zog|kaufte|machte"
    r"|lernte)\b"
    r"(?!.*\b(?:am planen|vor)$)"
)
_AHEAD = any_case(
    r"\b(?:werden?|will|wollen|möchten?|planen?|hoffen?|haben? vor|freue mich|steht .* an|habe .* (?:gebucht"
    r"|angemeldet))\b"
)
_DATES = DateRules(
    rules=rules(
        ("day", r"\b(?:vorgestern|gestern|heute|übermorgen|(?<!guten )(?<!am )(?<!jeden )morgen)\b"),
        ("ago", rf"\bvor {_N} {_UNIT}\b"),
        ("ahead", rf"\bin {_N} {_UNIT}\b"),
        ("weekday", rf"\b(?:{_STEP} |am )(?P<weekday>{_WEEKDAYS.replace(' ', '|')})\b"),
        ("weekend", rf"\b(?:{_STEP} |am )wochenende\b"),
        ("near_month", rf"\b{_STEP} (?P<month>{_MONTHS.replace(',', '|').replace(' ', '|')})\b"),
        ("near", rf"\b{_STEP} {_UNIT}\b"),
        ("in_year", r"\b(?:im jahr|seit|anfang|ende|mitte)\s(?P<year>(?:19|20)\d\d)\b"),
        ("in_year", r"(?<![\w.] )(?<!\d)\b(?P<year>(?:19|20)\d\d)\b(?=[ ](?:geboren|gegründet|geheiratet))"),
    ),
    days=_DAYS,
    numbers={**_COUNTS, **dict.fromkeys(("eine", "einer", "einem", "einen"), 1), "paar": 3, "wenigen": 3},
    units={"tag": "day", "woche": "week", "monat": "month", "jahr": "year"},
    steps=_STEPS,
    weekdays={name: day for day, name in enumerate(_WEEKDAYS.split())},
    months=_MONTHS,
    labels={
        "day": " (am {0:%Y-%m-%d})",
        "week": " (in der Woche vom {0:%Y-%m-%d})",
        "weekend": " (am Wochenende vom {0:%Y-%m-%d})",
        "month": " (im Monat {0:%Y-%m})",
        "year": " (im Jahr {0:%Y})",
    },
    vague="paar",
    ahead=_AHEAD,
    is_past=lambda folded: _PAST.search(folded) is not None,
    has_past_verb=lambda folded: _PAST.search(folded) is not None,
    leads="im|seit|bis|ab|vom|anfang|mitte|ende",
    ago=late_pattern(
        r"\bvor (\d{1,3}|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|einem|einer)"
        r" (tag|woche|monat|jahr)(?:e|en|n)?\b"
    ),
    since=(
        (late_pattern(r"\bgestern\b"), 1, 1),
        (late_pattern(r"\bvorgestern\b"), 2, 2),
        (late_pattern(r"\bletztes wochenende\b"), 8, 1),
        (late_pattern(r"\bletzte woche\b"), 13, 2),
        (late_pattern(r"\bletzten monat\b"), 60, 1),
    ),
    cues=("vor ", "gestern", "letzte"),
    has_ordinal_stop=True,
)

_KIN = (
    "mutter|mama|vater|papa|eltern|schwester|bruder|geschwister|frau|mann|partner(?:in)?|freund(?:in)?|sohn"
    "|tochter|kind(?:er)?"
    "|baby|oma|opa|großeltern|onkel|tante|cousine?|familie|mitbewohner(?:in)?|nachbarn?|chef(?:in)?|hund|katze"
    "|kater|pferd"
    "|name|geburtstag|hochzeit|job|gehalt|haus|wohnung|auto|fahrrad|handy|schule|studium|abschluss|arzt|ärztin"
    "|hobby|hobbys"
    "|heimat|muttersprache"
)
_SALIENCE = SalienceRules(
    life=any_case(
        rf"\b(?:mein|unser)\w{{0,2}} (?:\w+ )?(?:{_KIN})\b|\bich (?:heiße|wohne|lebe|arbeite|studiere"
        rf"|unterrichte|spreche"
        r"|spiele|stamme|komme aus)\b|\bich bin (?:\w+ )?(?:\d+|allergisch|schwanger|verheiratet|geschieden"
        r"|verlobt|vegan"
        r"|vegetarisch|in rente|arbeitslos|aus|(?-i:[A-Z]\w+(?:in|er|ist|ant|arzt)))\b|\bich habe (?:ein\w*"
        r"|zwei|drei|vier"
        r"|\d+) (?-i:[A-Z])|\bich (?:esse|trinke|vertrage) kein|\b(?:gezogen|geboren)\b"
    ),
    own=any_case(rf"(?:\w+,? ){{0,2}}{_I}\b"),
    owned=any_case(r"\b(?:ich|wir|mich|mir|uns|mein\w{0,2}|unser\w{0,2})\b"),
    named=late_pattern(r"\b(?:in|nach|aus|bei|mit|von|heiße) [A-ZÄÖÜ][\w-]+"),
    number=any_case(r"\d|\b(?:jede[nrs]?|zweimal|dreimal|einmal) (?:tag|woche|monat|jahr|die woche|im monat|\w+tag)\b"),
    feeling=any_case(
        r"\b(?:glücklich|traurig|aufgeregt|ängstlich|stolz|wütend|gestresst|nervös|einsam|enttäuscht"
        r"|erleichtert|liebe|hasse"
        r"|mag|allergisch|freue)\b"
    ),
    decision=any_case(
        r"\b(?:entschieden|beschlossen|angefangen|aufgehört|gekündigt|gewechselt|gezogen|gekauft|verkauft|begonnen"
        r"|angenommen|gewählt|plane|spare)\b"
    ),
    hanging=any_case(r"^(?:es|das|dies|diese|er|sie|dort|beide|was)\b|\b(?:damit|davon|dafür|darauf|daran)\b"),
    impersonal=any_case(r"(?:es|das|dies|dort|er|sie|ihr|sein|ihre|seine)\b"),
    opinion=any_case(r"\bich (?:\w+ )?(?:denke|glaube|finde|meine|vermute|schätze|weiß)\b"),
    intention=any_case(r"\bich (?:werde|will|möchte|plane|hoffe)\b"),
    request=any_case(
        r"\b(?:suche|brauche|hätte gern\w*) (?:\w+ ){0,3}(?:tipps?|rat|hilfe|ideen|empfehlungen?|vorschläge?)\b"
        r"|\bich (?:bin )?(?:unsicher|nicht sicher|neugierig|gespannt)\b|\bwürde gern\w*\b"
    ),
    courtesy=any_case(r"\b(?:danke|dank|du|dein\w{0,2}|dir|dich|klingt)\b"),
    vague=words("gut besser ding dinge sache sachen viel wichtig zeit weg art leben gefühl hilfe schritt versuch"),
)
_BECOMES = {
    "bist": "bin",
    "hast": "habe",
    "warst": "war",
    "hattest": "hatte",
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


_RESTATING = RestatingRules(
    assent=any_case(r"(?:ja|genau|stimmt|richtig|klar|natürlich|absolut|korrekt|das stimmt|du hast recht)\b"),
    denial=any_case(r"(?:nein|nee|stimmt nicht|falsch|nicht (?:ganz|wirklich)|eigentlich|das stimmt nicht|niemals)\b"),
    negation=any_case(r"\b(?:nicht|nie|kein\w{0,2}|weder|ohne|falsch)\b"),
    frame=any_case(
        r"^(?:(?:und|aber|also|ja|genau|ah|oh|schön|toll)\b[,!]?\s+)*(?:(?:schön|toll|gut|interessant)(?: zu "
        r"hören)?, dass "
        r"|es (?:klingt|scheint) (?:so )?,? ?(?:als|dass) )?(?=du|dein)"
    ),
    user=any_case(r"\b(?:du|dein\w{0,2}|dich|dir)\b"),
    own=any_case(r"\b(?:ich|mir|mich|mein\w{0,2}|wir|uns|unser\w{0,2})\b"),
    no_report=any_case(
        r"[?？]\W*$|\b(?:wenn|falls|ob|könntest|würdest|solltest|kannst|darfst|musst|vielleicht|übrigens"
        r"|erwähnt\w*|gesagt"
        r"|erinner\w*|versuch\w*|denk daran|ähnlich wie)\b"
    ),
    first_person=first_person,
    about=any_case(r"(?:\w+, )?(?:ich|mein\w{0,2})\b"),
    named=late_pattern(r"\b(?:in|nach|aus|bei|mit|von) [A-ZÄÖÜ][\w-]+|\d[\d.,]*"),
)
_GEMS = GemRules(
    cues=(
        cue("decision", 1.2, r"\b(?:entschieden|beschlossen|gewählt|ausgewählt|umgestiegen|verworfen|geeinigt)\b"),
        cue("decision", 1.2, r"\b(?:wir (?:nehmen|bleiben bei|verwenden|wechseln)|ich nehme)\b"),
        cue(
            "insight",
            1.2,
            r"\b(?:stellte sich heraus|die ursache (?:war|ist)|das problem (?:war|ist)|gelernt|herausgefunden)\b",
        ),
        cue(
            "preference",
            1.1,
            r"\b(?:ich|wir) (?:bevorzugen?|mag|mögen|lieben?|hassen?)\b|\blieblings\w+|\bbitte (?:immer|nie)\b",
        ),
        cue("plan", 0.9, r"\b(?:ich|wir) (?:planen?|haben? vor)\b|\b(?:das ziel|die frist) ist\b"),
        cue("project", 0.7, r"\b(?:ich|wir) (?:bauen?|entwickeln?|schreiben?|arbeiten? an)\b"),
        cue("knowledge", 0.5, r"\bich (?:wohne|arbeite|heiße|studiere|spreche)\b"),
    ),
    topics=(
        cue("technical", 0.0, TECHNICAL, r"\b(?:datenbank|schnittstelle|rechner|fehler|speicher|modell|abfrage)\b"),
        cue("architecture", 0.0, r"\b(?:architektur|schema|module?|schichten?|datenmodell)\b"),
        cue("workflow", 0.0, r"\b(?:ablauf|prozess|routine|checkliste|jeden (?:morgen|tag)|jede woche)\b"),
    ),
    reason=any_case(r"\b(?:weil|denn|da wir|damit|deshalb|wegen|aufgrund|sonst)\b"),
    concrete=late_pattern(r"\d|`[^`]+`|\b[A-Z]\w*[A-Z+#]\w*"),
    passing=any_case(r"\b(?:mittagessen|abendessen|frühstück|wetter|heute abend|gerade eben|haha|müde|hungrig)\b"),
    hanging=any_case(r"^(?:es|das|dies|diese|er|sie)\b"),
    asking=any_case(
        rf"[?？]\W*$|^(?:{_QUESTIONS}|{_ASKED}|bitte(?! immer| nie)|danke|hallo|zeig|gib|erklär|hilf|such|prüf)\b"
    ),
    opening=any_case(r"^(?:(?:ok|okay|also|gut|ja|genau|super|dann|und|aber|übrigens|danke)[,.!:;]?\s+)+"),
    said_as=((any_case(r"^\s*bitte\s+"), "User bittet: "),),
    after="Gesagt nach {who}: „{line}“",
    own_words="Am {day} mit eigenen Worten gesagt.",
)
_CHOICES = ChoiceRules(
    rules=rules(
        ("wählt", r"(?P<who>User und andere|User) (?:hat|haben) sich für (?P<thing>.+?) entschieden$"),
        ("wählt", r"(?P<who>User und andere|User) (?:hat|haben) (?P<thing>.+?) (?:gewählt|ausgewählt|genommen)$"),
        ("bevorzugt", r"(?P<who>User und andere|User) bevorzug(?:t|en) (?P<thing>.+)$"),
        ("bestellt", r"(?P<who>User und andere|User) (?:hat|haben) (?P<thing>.+?) bestellt$"),
        ("kauft", r"(?P<who>User und andere|User) (?:hat|haben) (?P<thing>.+?) gekauft$"),
    ),
    tail=any_case(
        r"(?:,|;|\(| [-–—] )[\s\S]*$|\s+(?:für|weil|statt|da|als|in|im|am|bei|mit|und|aber|heute|gestern)\b[\s\S]*$"
    ),
    article=any_case(r"^(?:eine?[nmrs]?|de[nrm]|das|die)\s+"),
    refused=any_case(r"\b(?:nicht|nie|kein\w{0,2}|fast|beinahe|würde|vielleicht|ob|wenn|überlegt)\b|\?"),
    summary="{who} {verb} meistens {thing} ({times} Mal vom {first:%Y-%m-%d} bis {last:%Y-%m-%d})",
    plural=lambda who, verb: f"{verb[:-1]}en" if who.endswith("andere") else verb,
)
_NAMES = NameRules(
    phrases={
        "works at": "arbeitet bei|arbeite bei|arbeitet für",
        "worked at": "arbeitete bei",
        "lives in": "wohnt in|wohne in|lebt in|lebe in|zog nach",
        "located in": "liegt in|befindet sich in",
        "depends on": "hängt ab von|hängt von|basiert auf|braucht",
        "uses": "nutzt|verwendet|benutzt|nutze|benutze|verwende|läuft auf",
        "created by": "wurde erstellt von|erstellt von|entwickelt von|gegründet von",
        "created": "gründete|entwickelte|erstellte",
        "reports to": "berichtet an",
        "manages": "leitet|verantwortet|ist verantwortlich für|verantwortlich für",
        "managed by": "geleitet von",
        "works on": "arbeitet an|arbeite an",
        "part of": "ist teil von|teil von|gehört zu",
        "contains": "enthält|besteht aus",
        "governed by": "unterliegt",
        "governs": "gilt für|regelt",
        "replaces": "ersetzt",
        "replaced by": "ersetzt durch",
        "knows": "kennt",
        "family": "ist verheiratet mit|verheiratet mit",
        "also known as": "auch bekannt als|auch genannt|genannt",
    },
    kinds={
        "project": "projekt",
        "technology": "datenbank programmiersprache",
        "place": "stadt land",
        "organisation": "firma unternehmen",
        "policy": "richtlinie gesetz",
    },
    openers=(
        "ich du er sie es wir ihr mein meine dein unser der die das ein eine und oder aber wenn weil heute "
        "morgen gestern"
        " ja nein danke bitte hallo"
    ),
    speakers="ich",
    skipped_before="ist wird wurde hat jetzt auch derzeit",
    skipped_behind="der die das den dem ein eine einen einem einer unser unsere meine mein",
    joining="und sowie",
    going_on="und aber",
    relative="der die das welche",
    stopping="nicht kein keine nie",
    doubting="wenn ob falls vielleicht",
    naming_first="projekt",
    dropped_first="firma unternehmen stadt",
    honorifics="frau herr",
    copulas="ist war",
    determiners="ein eine unser unsere",
)

LANGUAGE = Language(
    code="de",
    # No word that is a rare one of English ("die", "war"). Common words of both count for both, and English wins a tie.
    common=words(
        "ich mich mir mein meine meinen meinem meiner wir uns unser unsere du dich dir dein deine er es ihr "
        "ihm ihn der das"
        " dem des ein eine einen einem einer und oder aber denn weil dass nicht kein keine keinen ist sind bin "
        "habe hast"
        " haben hatte werde wird wurde mit bei auf aus von vom zu zum zur nach für über unter seit im ins auch "
        "noch schon"
        " sehr gern gerne jetzt heute gestern vorgestern morgen nie immer wohne heisse arbeite mag liebe hasse "
        "danke bitte"
        " hallo ja nein in am an so was also will wohnt lebt arbeitet heisst hasst liebt spricht letzte "
        "letzten letztes nächste nächsten vor wer wie wo wann warum welche welches welcher"
    ),
    user="User",
    third_person=third_person,
    intensifier=any_case(r"\b(?:wirklich|echt|total|ehrlich gesagt|eigentlich|halt|eben)\s+"),
    joint=". ",
    is_cased=True,
    statements=_STATEMENTS,
    kinds=_KINDS,
    slots=_SLOTS,
    dates=_DATES,
    salience=_SALIENCE,
    restating=_RESTATING,
    gems=_GEMS,
    choices=_CHOICES,
    names=_NAMES,
    asks_assistant=late_pattern(
        r"\b(?:hast du|du hast|haben sie|sie haben|hattest du)\b.*\b(?:empfohlen|gesagt|vorgeschlagen|erwähnt"
        r"|genannt)\b"
    ),
    courtesies="hallo guten morgen tag abend danke schön vielen dank bitte ja nein gut alles klar tschüss",
)
