"""English: what the rules know of it. How its verbs and persons are rewritten stands in `english`."""

from __future__ import annotations

import re

from mnemic.model.item import Kind
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.languages import (
    TECHNICAL,
    ChoiceRules,
    DateRules,
    GemRules,
    Language,
    SalienceRules,
    StatementRules,
    any_case,
    cue,
    rules,
    words,
)
from mnemic.text.languages.english import RESTATING, is_past, third_person
from mnemic.text.languages.english_slots import SLOTS
from mnemic.text.late_pattern import late_pattern

_QUESTION = (
    r"(?:can|could|would|will|do|did|have|are) you\b|speaking of (?:which|that)\b"
    r"|(?:any|what|how|which|where|should|can|could) (?!about\b)[^,]*\?"
)
_REASON = late_pattern(
    r"(?:^|,?\s+(?:especially\s+|particularly\s+)?)(?i:since|because|as|now that|given that|(?:considering|seeing)(?: "
    r"that)?(?=[^,?]*(?: (?:am|is|are|was|were|have|has|had)|['’](?:m|ve))\b))\s+(?=(?:I|i|I['’](?:m|ve)|my|we"
    r"|we['’](?:re|ve)|our)\b)"
)
"""What follows gives the reason of a question or of a request, and is told as true."""

_REASON_ENDS = any_case(
    r",\s+(?=(?:what|how|which|where|who|when|why|can|could|would|will|do|does|did|is|are|should|please|any|give|help"
    r"|suggest|recommend|tell|show|i['’]d|i was|i would|i want|i need|i wonder|let['’]s)\b)"
)
_SUBORDINATE = any_case(
    r"\b(?:if|when|whenever|since|because|although|though|while|as|after|before|once|until|unless|that|which|who|where"
    r"|whether|than)\b[^,;]*$"
)
_COMMENT = any_case(
    r"\s*(?:[,;–—-]|,?\s+(?:and|but|so|which))\s+(?:it|that|this|which)?(?:['’]s|\s+(?:is|was|has|had|seems?|feels?"
    r"|felt))\s+[^,;]*$"
)
_TELLING = late_pattern(r"\d|(?<=[a-z,] )(?!I\b)[A-Z][a-z]|\b(?:since|because|as) (?:I|my)\b")
"""A comment with a number, a name or a reason of the speaker's in it says more than an opinion."""

_NO_OBJECT = any_case(
    r"i (?:\w+ly )?(?:stopped|quit|did|do|don['’]t|didn['’]t|failed|recovered|survived|agreed|tried|gave up)\b(?! "
    r"\w+ing|\s+(?:my|the|like))"
)
_VERB = any_case(
    r"\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|can|could|will|would|['’](?:m|s|re|ve|ll|d))\b|['’](?:m"
    r"|s|re|ve|ll|d)\b|\b[a-z]+(?:ed|s)\b|\bI\s+[a-z]+|\bwe\s+[a-z]+"
)
_PAIR_WORDS = 4
"""More words before "and I" are a clause, no name of a person."""


def _keeps_together(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """A cut parts two clauses only behind a verb, outside a subordinate clause and a pair of nouns."""
    opened = _SUBORDINATE.search(left)
    is_tied = opened is not None and (cut.group().strip() == "," or opened.start() == 0)
    has_verb = _VERB.search(left) is not None
    return not has_verb or is_tied or _is_pair(left, sentence, cut) or bool(_NO_OBJECT.match(sentence, cut.end()))


def _is_pair(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """One subject or object, no two statements: "My wife and I", "my dog and my cat"."""
    after = sentence[cut.end() : cut.end() + 60]
    if re.match(r"(?:my|our)\b", after, re.IGNORECASE):
        return not re.match(
            r"(?:my|our)\s+[\w'’-]+(?:\s+[\w'’-]+)?\s+(?:is|are|was|were|has|have|had|will|can)\b", after
        )
    return (
        not re.search(r"\b(?:I|we)\b|['’](?:m|ve|s)\b|\b(?:is|are|was|were|has|had|have)\b", left)
        and len(left.split()) <= _PAIR_WORDS
    )


def _find_reason(sentence: str) -> tuple[int, int] | None:
    """The reason that a question gives: "Since I am allergic to nuts, what can I bake?"."""
    if (match := _REASON.search(sentence)) is None or _tells_a_time(sentence, match):
        return None
    until = _REASON_ENDS.search(sentence, match.end()) if match.start() == 0 else None
    if match.start() == 0 and until is None:
        return None
    end = len(sentence.rstrip("?")) if until is None else until.start()
    return match.end(), max(match.end(), end)


def _tells_a_time(sentence: str, match: re.Match[str]) -> bool:
    """True for "since we last spoke", as no reason is."""
    if "since" not in match.group().lower():
        return False
    is_apart = match.start() == 0 or match.group().startswith(",")
    subject, *words = re.findall(r"[\w'’]+", sentence[match.end() :].lower())[:4]
    return any(is_past(word) for word in words) if subject in ("i", "we") else not is_apart and subject in ("my", "our")


def _find_comment(clause: str) -> int | None:
    """Where a mere opinion begins: "I moved to Rome, which was nice"."""
    match = _COMMENT.search(clause)
    is_opinion = match is not None and match.start() > len(clause) // 3 and not _TELLING.search(match.group())
    return match.start() if match is not None and is_opinion else None


_STATEMENTS = StatementRules(
    opening=any_case(
        r"(?:(?:yes|yeah|yep|no|nope|well|oh|ok|okay|sure|absolutely|definitely|exactly|indeed|honestly|great|right"
        r"|true|agreed|of course|anyway|hi|hello|hey|thanks|thank you|thx|good (?:morning|afternoon|evening)|perfect"
        r"|nice|cool|awesome|certainly|totally|wow|haha|lol|hmm|sorry|unfortunately|luckily|fortunately|personally"
        r"|lately|update|note|fyi|ps|edit|also|actually|besides|plus|so|and|but|then|oh no|alas|overall|again)(?: "
        r"(?:there|all|again|so much|everyone|for that|a lot|to (?:hear|know)))?\s*[,!.:;–—-]+\s+|(?:also|actually|and"
        r"|but|so|plus|because|by the way|btw|just|oh),?\s+(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)|(?:(?:please |and "
        r"|just )*(?:remember|note|keep in mind|bear in mind|don['’]t forget|know)(?: that|:)\s+)|(?:(?:and|but|oh"
        r"|also|so)\s+)?(?:by the way|btw)[,:–—-]*\s+(?=(?:speaking|i|i['’]\w+|my|we|we['’]\w+|our)\b)|(?:and |but "
        r"|oh,? )*(?:speaking|talking) of (?:which|that|this|the\b[^,.?!]{1,40}|(?!my\b"
        r"|our\b)[^,.?!]{1,40}),\s+(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)(?![^.?!]{0,30}\b(?:it|them|one)\b)|(?:for "
        r"instance|for example|except|i (?:have to|must) (?:say|admit)|believe it or not|like|wait|guess what|you "
        r"know what|to give you some context|for context|in fact|as it happens|come to think of it|on (?:another|a "
        r"different|a side|a related|that) note)[,:–—-]+\s+(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)|(?:just so you "
        r"know|for the record|to be honest|as i (?:said|mentioned)|as you (?:know|may know)|for your information|in "
        r"case it helps|one more thing|fun fact|for me|i mean|you know|you see)\s*[,:–—-]*\s+(?=(?:i|i['’]\w+|my|we"
        r"|our|that|the)\b)|(?:sounds|that sounds|that['’]s)\s+(?:good|great|perfect|nice|wonderful|helpful"
        r"|interesting|true|right)\s*[,.!]\s+)+"
    ),
    refused=any_case(
        r"[?？][\"'”’)\]]*\s*$|^(?:can|could|would|will|do|does|did|is|are|was|were|have|has|should|shall|may|might"
        r"|what|which|who|whom|whose|where|when(?! (?:i|we|my)\b)|why|how|any (?:idea|thought|tip|suggestion"
        r"|recommendation)s?)\b|^(?:if|unless|suppose|supposing|imagine|pretend|assuming|assume|let['’]?s|let us|say"
        r"|what if|as if|whether)\b|\bif (?:i|we|my)\b|\bas (?:if|though)\b|\b(?:i|we) wish\b|\bwish (?:i|we)\b|\b(?:i"
        r"|we) (?:\w+ )?(?:might|may|could(?!n)|would(?! (?:\w+ )?(?:like|love|prefer|rather|hate)\b))\b|\b(?:i"
        r"|we)['’]d (?!(?:\w+ )?(?:like|love|prefer|rather|hate|been|had|better)\b|\w+ed\b)|\b(?:maybe|perhaps"
        r"|hypothetically|hopefully)\b|^(?:please|kindly|skip|provide|feel free|let me|tell|give|show|help|write|draft"
        r"|explain|list|find|make|create|generate|translate|summari[sz]e|rewrite|describe|compare|suggest|recommend"
        r"|remind|act|ignore|forget|stop|keep|use|try|look|check|fix|add|remove|convert|calculate|compute|plan|pretend"
        r"|continue|go on|do not|don['’]t|never mind|call|set|open|search|send)\b(?!.*\bme\b.*\bi(?:['’]m| am)\b)"
        r"|\b(?:i|we)(?:['’]d| would)? (?:want|need|like|expect|ask|asked|told|beg|prefer) (?:for )?you\b|\b(?:i"
        r"|we)(?:['’]d| would|['’]m|['’]ve)? (?:\w+ )?(?:(?:like|love|want|need|have|wondering|trying)(?: \w+)? "
        r")?(?:to (?:know|ask|hear|understand) (?:if|what|how|why|whether|more|your|about|you)|to ask (?:you|about|if"
        r"|an?|some|one|another)\b|to ask\W*$|wonder|wondering|(?:a|some|a few|another|one more)(?: more)? "
        r"questions?)\b|\b(?:i|we)(?:['’]d| would)? (?:\w+ly |also )?(?:like|love|want|need) to (?:know|hear)\b"
        r"|\b(?:looking (?:for|to get|to find)|(?:would|['’]d) (?:like|love|appreciate)) (?!to\b)(?:(?:some|any|a few"
        r"|more|your|new|good|other|general|specific) ){0,3}(?:[\w-]+ ){0,3}?(?:recommendations?|suggestions?|tips"
        r"|advice|ideas?|information|resources|guidance|help)\b(?!.*\b(?:my|our|i|i['’]m)\b)|\b(?:i|we) (?:need"
        r"|want)(?:ed)? (?:your |some |a bit of )?(?:help|advice|tips|suggestions|assistance)\b|\byou(?:['’]\w+)? "
        r"(?:said|mentioned|suggested|recommended|told|are|were|can|could|should|just|have|mean|know)\b|\byour "
        r"(?:answer|advice|suggestions?|help|insights?|support|recommendations?|reply|response|point|ideas?"
        r"|encouragement|time|patience|guidance|assistance|explanation|previous|last|system|instructions?)\b"
        r"|^(?:thanks?|thank you|many thanks|thx|cheers|bye|goodbye|see you|take care|good (?:night|morning|luck)|hi"
        r"|hello|hey|welcome|congrat\w*)\b|\b(?:i|we) (?:really |truly |also |do |totally |completely )*(?:appreciate "
        r"(?:it|that|this|you)|agree\b|see\b\W*$|understand\b\W*$|hope (?:so|not)|think so|guess so|get it|got it"
        r"|will do|look forward to)|\b(?:i['’]ll|i will|will) (?:definitely |certainly |surely )?(?:keep (?:that|this"
        r"|it|you)|let you know|do that|try (?:that|this|it)|think about (?:it|that)|check (?:it|that|them))\b"
        r"|\blooking forward to (?:our|your|hearing|talking|chatting|the next|it)\b|\bour (?:next )?conversations?\b"
        r"|[\"“][^\"”]*\b(?:i|my|me|we|our)\b[^\"”]*[\"”]|\bsuppose\b|\b(?:just |only )?(?:kidding|joking)\b|\bfor "
        r"example\b|\be\.g\."
    ),
    condition=any_case(
        r"^(?:if|unless|suppose|supposing|imagine|assuming|assume|let['’]?s say|what if|as an example|say)\b"
    ),
    material=any_case(
        r"\b(?:translate|rewrite|rephrase|paraphrase|proofread|correct|edit|summari[sz]e|improve|draft|write|compose"
        r"|analy[sz]e|review)\b.*(?::\s*$|\b(?:following|below|this (?:text|email|letter|paragraph|sentence|essay"
        r"|passage))\b|:\s+\S)|\b(?:write|compose|draft) (?:me |us )?(?:an? |the |some )?(?:\w+ )?(?:story|poem|song"
        r"|novel|scene|script|dialogue|essay|cover letter|lyrics|speech|role-?play)\b|\b(?:role-?play|pretend|act as"
        r"|you are now)\b"
    ),
    own_label=any_case(r"(?:note|update|ps|p\.s\.|fyi|edit|btw|also|remember|fact|background|context|me)\b"),
    cut=late_pattern(
        r"(?:\s*[;–—]\s*|,?\s+(?:and|but|so|while|though|although|plus|also|then)\s+(?:also\s+|now\s+|then\s+)?|,\s+)"
        rf"(?=(?:I|i|I['’](?:m|ve|ll|d)|my|My|we|our)\b|{_QUESTION})|\s+-{{1,3}}\s+(?={_QUESTION})"
    ),
    keeps_together=_keeps_together,
    find_reason=_find_reason,
    find_comment=_find_comment,
)

_ADVERBS = r"(?:(?:\w+ly|also|always|never|just|still|now|often|not|even) )*"
_I = rf"\b(?:i|we)(?:['’](?:m|ve|d|ll|re))? {_ADVERBS}"
_KINDS = (
    (
        Kind.GOAL,
        any_case(
            rf"{_I}(?:am |are |have |been |would )*{_ADVERBS}(?:plan|planning|want|intend|intending|aim|aiming|hope"
            rf"|hoping|wish|aspire|going to|gonna|determined to|committed to|training for|saving (?:up )?(?:for|to)"
            r"|working towards?"
            r"|like to|love to|eager to|keen to|ready to|trying to|try to|set on|dream of|dreaming of|resolved to)\b"
            rf"|\b(?:my|our)(?: \w+)? (?:goal|aim|dream|plan|ambition|target|resolution|objective|mission)s?\b"
            rf"|{_I}will\b"
            r"|\b(?:i|we)['’]ll\b",
        ),
    ),
    (
        Kind.PREFERENCE,
        any_case(
            rf"{_I}(?:do not |don['’]t |am |are |have |been |really )*{_ADVERBS}(?:prefer|like|love|enjoy|hate"
            rf"|dislike|adore|loathe|detest|favou?r|fond of|into |a (?:big |huge )?fan of|can['’]?t stand|cannot stand"
            r"|interested in|allergic"
            r"|passionate about|keen on|obsessed with|drawn to|tired of|sick of|avoid|avoiding|find|captivated by"
            r"|care about|value)\b|\b(?:my|our)(?: \w+){0,2} (?:favou?rite|preference|taste|go-to)|\bfavou?rite\b"
            r"|\bi['’]d rather\b"
            r"|\bgo-to\b",
        ),
    ),
    (
        Kind.EVENT,
        any_case(
            rf"{_I}(?:have |had |was |were |got |been )*{_ADVERBS}(?:attended|visited|went|met|bought|moved|started"
            rf"|joined|quit|finished|graduated|married|engaged|divorced|promoted|accepted|received|won|lost|broke|had"
            r"|watched|saw|read"
            r"|ran|completed|passed|failed|travell?ed|flew|hired|fired|adopted|launched|signed|sold|got|became"
            r"|began|decided"
            r"|celebrated|hosted|presented|published|took|made|gave|tried|learn(?:ed|t)|hurt|injured|switched"
            r"|changed|turned"
            r"|born|left|retired|enrolled|booked|cancelled|canceled|ordered|noticed|discovered|found|witnessed"
            r"|spent|called)\b|\b(?:died|passed away|was born|got (?:married|engaged|divorced)|broke up)\b"
        ),
    ),
    (
        Kind.CONTEXT,
        any_case(
            rf"\b(?:currently|these days|at the moment|right now|lately|recently|nowadays|this (?:week|month|year))\b"
            rf"|{_I}(?:use|using|run|running|am on|work with|working (?:on|with)|looking for|considering|thinking"
            rf"|exploring"
            r"|preparing|struggling|dealing with|feeling|feel|am in|on a|learning|studying|been \w+ing|am \w+ing)\b"
            r"|\bi['’](?:m|ve been) (?:\w+ly )?\w+ing\b|\b(?:i|we)(?:['’](?:m|re)| am| are) (?:on|in|at|using)\b"
        ),
    ),
)

_N = (
    r"(?P<n>\d{1,3}|an?|one|two|(?:a )?couple(?: of)?|three|(?:a )?few|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)"
)
_MONTHS = "january february march april may june july august september october november december"
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_DAYS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening"), 0),
}
_UNIT = r"(?P<unit>day|week|month|year)"
_FELT = late_pattern(
    r"(?:\b(?:am|is|are|be|feel|feeling|get|getting|getting so|seem|look)|'(?:m|re)) (?:(?:\w+ly|so|very|not|quite|a "
    r"bit|a little) )*\w+ed\b"
)
"""A participle behind "am" is no past: "I'm excited"."""

_FIRST_TEN = "one two three four five six seven eight nine ten"
_COUNTS = {word: number for number, word in enumerate(f"{_FIRST_TEN} eleven twelve".split(), start=1)}


def _is_past(folded: str) -> bool:
    """True where the verbs of a statement, and not only its feelings, are in the past."""
    told = _FELT.sub(" ", folded).replace("'", " ").split()
    return any(is_past(word) or word == "since" for word in told)


_DATES = DateRules(
    rules=rules(
        ("day", "|".join(rf"\b{name}\b" for name in sorted(_DAYS, key=len, reverse=True))),
        ("ago", rf"\b{_N} {_UNIT}s? (?:ago|back|earlier)\b"),
        ("ahead", rf"\b(?:in|within) {_N} {_UNIT}s?\b(?! (?:of|old))"),
        ("weekday", rf"\b(?:(?P<step>last|past|this|next|coming) |on )(?P<weekday>{_WEEKDAYS.replace(' ', '|')})\b"),
        ("weekend", r"\b(?:(?P<step>last|past|previous|this|next|coming) |(?:over|on|at) the )weekend\b"),
        ("near_month", rf"\b(?P<step>last|past|previous|next) (?P<month>{_MONTHS.replace(' ', '|')})\b(?! \d)"),
        ("near", rf"\b(?P<step>last|past|previous|this|next) {_UNIT}\b"),
        ("in_year", r"\b(?:in|since|back in|during|of|from)\s(?P<year>(?:19|20)\d\d)\b"),
    ),
    days=_DAYS,
    numbers={**_COUNTS, "a": 1, "an": 1, "couple": 2, "few": 3, "a couple of": 2, "a few": 3},
    units={unit: unit for unit in ("day", "week", "month", "year")},
    steps={"last": "last", "past": "last", "previous": "last", "this": "this", "next": "next", "coming": "coming"},
    weekdays={name: day for day, name in enumerate(_WEEKDAYS.split())},
    months=(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,october oct,"
        "november nov,december dec"
    ),
    years={},
    labels={
        "day": " (on {0:%Y-%m-%d})",
        "week": " (in the week of {0:%Y-%m-%d})",
        "weekend": " (on the weekend of {0:%Y-%m-%d})",
        "month": " (in {0:%Y-%m})",
        "year": " (in {0:%Y})",
    },
    vague="few",
    ahead=late_pattern(
        r"\b(?:will|going to|gonna|plan|plans|planning|thinking (?:of|about)|considering|hope to|hoping to|want to"
        r"|intend|upcoming|coming up|forward to|due|deadline|saving|training for|preparing for|can't wait|(?:excited"
        r"|nervous|worried) (?:for|about|to))\b|'ll\b|\b(?:booked|scheduled|signed up|registered|reserved"
        r"|invited)\b.*\bfor\b"
    ),
    is_past=_is_past,
    has_past_verb=lambda folded: any(map(is_past, folded.split())),
    leads=("in|of|during|since|until|till|by|from|to|before|after|early|late|mid|last|this|next|between|and"),
    ago=late_pattern(
        rf"\b(\d{{1,3}}|a couple of|a few|{_FIRST_TEN.replace(' ', '|')}|an|a) (day|week|month|year)s? ago\b"
    ),
    last_weekday=late_pattern(rf"\blast ({_WEEKDAYS.replace(' ', '|')})\b"),
    since=(
        (late_pattern(r"\byesterday\b"), 1, 1),
        (late_pattern(r"\bthe day before yesterday\b"), 2, 2),
        (late_pattern(r"\blast weekend\b"), 8, 1),
        (late_pattern(r"\blast week\b"), 13, 2),
        (late_pattern(r"\b(?:in|over|during|within) the (?:past|last) week\b"), 7, 0),
        (late_pattern(r"\blast month\b"), 60, 1),
        (late_pattern(r"\b(?:in|over|during|within) the (?:past|last) month\b"), 31, 0),
    ),
    cues=("ago", "last ", "past ", "yesterday"),
)

_SALIENCE = SalienceRules(
    life=any_case(
        r"\b(?:my|our) (?:[\w-]+ )?(?:mother|mum|mom|father|dad|parents?|sister|brother|siblings?|wife|husband|partner"
        r"|spouse|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|baby|twins|grand\w+|uncle|aunt"
        r"|cousin|niece|nephew|family|in-laws?|roommate|flatmate|neighbou?rs?|boss|manager|dog|cat|puppy|kitten|parrot"
        r"|rabbit|horse|hamster|pets?|name|birthday|anniversary|wedding|job|salary|house|flat|apartment|car|bike|phone"
        r"|laptop|school|university|degree|thesis|doctor|therapist|surgery|diagnosis|blood type|hobby|hobbies|hometown"
        r"|address|e-?mail|native language)\b|\bi(?:['’]m| am) (?:\w+ )?(?:in|at|based in|staying in|living in) "
        r"(?-i:[A-Z])|\bi(?:['’]m| am) (?:\w+ )?(?:an? (?!bit|little|lot|big fan)|from\b|allergic|intolerant|diabetic"
        r"|pregnant|married|single|divorced|engaged|retired|unemployed|vegan|vegetarian|left-handed|colou?r-?blind"
        r"|\d+)|\b(?:i|we) (?:\w+ly )?(?:have|own|got|adopted) (?:an?|two|three|four|five|\d+|no) (?!lot\b|bit\b"
        r"|great\b|good\b|feeling|strong\b|chance|question)|\b(?:i|we) (?:\w+ly )?(?:live|work|study|teach|speak|play"
        r"|drive|volunteer|commute|grew up)\b|\bi (?:can(?:['’]|no)t|don['’]t|never|do not) (?:eat|drink|drive|fly"
        r"|swim|smoke|watch|work)\b|\bdiagnosed with\b"
    ),
    own=any_case(r"(?:\w+(?:ly)?,? ){0,2}(?:i|we)\b"),
    owned=any_case(r"\b(?:my|mine|our|me|myself|us|i|we)\b"),
    named=late_pattern(r"(?<=[a-z,] )(?!I\b)[A-Z][\w'’-]+|《|[A-Za-z]{2,}(?=[\u4e00-\u9fff])"),
    number=any_case(
        r"\d|\b(?:every|each) (?:single )?(?:day|morning|evening|night|week|weekend|month|year|\w+day)\b|\b(?:once"
        r"|twice|two|three|four|five|six|seven|eight|nine|ten) (?:times )?(?:a|per|days|weeks|months|years)\b"
    ),
    feeling=any_case(
        r"\b(?:happy|sad|excited|anxious|afraid|scared|worried|grateful|proud|angry|upset|stressed|overwhelmed|nervous"
        r"|lonely|disappointed|relieved|frustrated|optimistic|curious|passionate|confident|enthusiastic|thrilled"
        r"|depressed|love|hate|enjoy|prefer|allergic|favou?rite)\b"
    ),
    decision=any_case(
        r"\b(?:decided|decide|accepted|started|stopped|quit|switched|changed|chose|joined|signed|promoted|moved|bought"
        r"|sold|began|launched|committed|updated|refined|adopted|planning|considering|saving|training)\b"
    ),
    hanging=any_case(
        r"^(?:it|this|that|these|those|they|he|she|there|such|both|which)\b|\b(?:these|those) \w+|\bthis \w+"
        r"|\b(?:about|of|for|with|in|on|to|from|by|doing|do|see|think|find|make|know|try) (?:it|that|them|this)\b"
    ),
    held=any_case(
        r"\b(?:this|these) (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|autumn|fall|days"
        r"|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"
    ),
    impersonal=any_case(r"(?:\w+, )?(?:it|that|this|there|they|these|he|she|his|her|their)(?:['’]|\b)"),
    # Its object is a pronoun for what was named before.
    of_it=any_case(
        r"(?:i|we)(?:['’]\w+)? (?:(?!(?:a|an|the|my|our|his|her|their|some|any|no|this|that|these|those|to|and|but|if"
        r"|when|think|feel|find|know|see|will|hope|believe|make|made)\b)[\w’'-]+ ){1,4}?(?:it|them|him)(?!['’])(?! "
        r"(?:is|was|were|would|could|hard|difficult|easy|to|when|if|clear|that)\b)\b"
    ),
    opinion=any_case(
        r"\b(?:i|we) (?:\w+ly )?(?:think|believe|guess|suppose|feel like|hope|imagine|expect|see|agree|know)\b"
        r"|\b(?:important|crucial|essential|key|vital) (?:to|for|that|in)\b"
    ),
    intention=any_case(
        r"\b(?:i|we)(?:['’]ll| will)\b|\bcontinue to\b|\bkeep \w+ing\b|\b(?:i|we)(?: \w+ly)? (?:plan|intend|aim|want"
        r"|hope)\b|\b(?:i['’]m|i am) (?:\w+ing to|hoping)\b"
    ),
    # Asks for something, or takes up an answer: what was asked is gone with the talk.
    request=any_case(
        r"\blooking (?:for|to get|to find|into) (?:[\w-]+ ){0,4}(?:recommendations?|suggestions?|tips|advice|ideas?"
        r"|inspiration|info(?:rmation)?|resources|guidance|help|ways)\b|\b(?:i|we)(?:['’]m| am|['’]re| are) (?:\w+ "
        r"){0,2}?(?:trying to (?:figure out|understand|decide)|not sure (?:how|what|which|where|if|whether|why|about)"
        r"|unsure|curious (?:about|to|how|if|whether|what|why)|torn between|glad (?:to (?:hear|know|see)|you|i could)"
        r"|open to|happy to)\b|\b(?:would|['’]d) (?:\w+ )?(?:like|love) to (?:know|hear|see|get|learn more|find out"
        r"|understand)\b|\binterested in (?:learning|knowing|hearing|finding out|getting|reading|exploring) (?:more"
        r"|about)\b|\b(?:i|we)(?:['’]ve| have) (?:\w+ )?heard\b|\b(?:like|love) (?:the|that|this|your) (?:idea"
        r"|suggestion|sound)s?\b|\b(?:need|needs) (?:some |a little |more )?(?:help|advice|information)\b|\b(?:i"
        r"|we)(?:['’]ll| will) (?:\w+ly )?(?:check|look|try|consider|keep|give|make sure|start|go with|see|think about"
        r"|take a look)\b|\b(?:think|guess) i(?:['’]ll| will)\b|\bwant to (?:make sure|see if|know)\b|^(?:i"
        r"|we)(?:['’]m| am|['’]re| are) (?:\w+ly |so |very |also )*(?:excited|curious|happy|glad|sure|ready"
        r"|interested)$"
    ),
    courtesy=any_case(r"\b(?:thank|thanks|appreciate|conversation|chat with|talking to you|your|you|sounds)\b"),
    vague=words(
        "amaz approach aspect balanc balance best better bit challeng come continu crucial definit differ effort "
        "energ enhanc enjoy essenc essenti experi explor feel find focu fulfil get go goal good great grow growth "
        "help idea impact import improv incred inspir interest journey keep key kind level look lot make matter "
        "meaning mindset moment motiv need nice opportun perspect posit potenti process progress realli reward see "
        "sens sort step success support take thing think thought time valu valuabl vital way wonder work "
    ),
)

_LIGHT_ADVERBS = r"(?:(?:\w+ly|also|just|do|don['’]t|do not|would|much|still|always|never|did|didn['’]t) )*"
_CUES = (
    cue(
        "decision",
        1.2,
        r"\b(?:I|we)(?:['’]ve| have)? (?:\w+ )?(?:decided|chose|chosen|picked|settled on|opted|agreed"
        r"|concluded|committed to"
        r"|switched|dropped|rejected|ruled out)\b",
        r"\b(?:let['’]?s|(?:I|we)(?:['’]ll| will)) (?:\w+ )?(?:go with|stick with|stay with|use|switch|move to"
        r"|adopt|keep|drop"
        r"|replace)\b",
        r"\b(?:going with|(?:the|our|my) (?:final )?(?:decision|choice) (?:is|was)|made up my mind)\b",
    ),
    cue(
        "insight",
        1.2,
        r"\bturn(?:s|ed) out\b|\broot cause\b.{0,40}\b(?:is|was)\b|\blessons?\b.{0,20}\b(?:is|was|learn)"
        r"|\bnever again\b",
        r"\bthe (?:real |actual )?(?:problem|issue|bug|reason|cause|trick|fix|solution|answer) (?:is|was)\b",
        r"\b(?:fixed|solved|resolved|cured) (?:it|that|this|the|my|our)\b.*\b(?:by|with)\b",
        r"\b(?:I|we)(?:['’]ve| have)? (?:\w+ )?(?:reali[sz]ed|learn(?:ed|t)|found out|figured out|understood"
        r"|discovered)\b",
    ),
    cue(
        "preference",
        1.1,
        rf"\b(?:I|we) {_LIGHT_ADVERBS}(?:prefer|like|love|hate|dislike|can['’]?t stand|cannot stand|enjoy)\b"
        r"|\bI['’]d rather\b",
        r"\b(?:my|our) (?:favou?rite|preference)\b|\bplease (?:always|never)\b|\bI['’]m allergic\b"
        r"|\bI don['’]?t want\b",
        r"\b(?:I|we) (?:always|never) (?!(?:had|heard|seen|knew|thought|said|saw|was|were|got|\w+ed|ask|asked)\b)",
    ),
    cue(
        "decision",
        0.8,
        r"\bwe (?:should|must|need to|have to)\b",
    ),
    cue(
        "plan",
        0.9,
        r"\b(?:I|we)(?:['’]m| am|['’]re| are)? (?:\w+ )?(?:plan(?:ning)? (?:to|on)|going to|intend to|aim to"
        r"|scheduled)\b",
        r"\b(?:the|our|my) (?:plan|goal|deadline|roadmap|target) (?:is|for)\b|\bby the end of\b",
    ),
    cue(
        "project",
        0.7,
        r"\b(?:I|we)(?:['’]m| am|['’]re| are) (?:\w+ )?(?:building|working on|writing|developing|migrating"
        r"|designing)\b",
        r"\b(?:my|our) (?:project|app|product|company|startup|thesis|book|service|platform)\b",
    ),
    cue(
        "knowledge",
        0.5,
        r"\b(?:I|we) (?:work|live|own|run|manage|study|speak)\b|\bmy (?:name|job|wife|husband|team|doctor"
        r"|boss) (?:is|are)\b",
    ),
)
_TOPICS = (
    cue("technical", 0.0, TECHNICAL),
    cue(
        "architecture",
        0.0,
        r"\b(?:architecture|schema|modules?|micro-?services?|monolith|layers?|database|event (?:bus|sourcing)"
        r"|message queue"
        r"|topology|data model|interface|vector (?:database|store))\b",
    ),
    cue(
        "workflow",
        0.0,
        r"\b(?:workflow|process|pipeline|CI|code review|checklist|routine|stand-?up|every (?:morning|evening"
        r"|week|day|sprint"
        r"|release|monday|friday)|before (?:every|each)|review(?:s|ed)? (?:every|each|all))\b",
    ),
)
_GEMS = GemRules(
    cues=_CUES,
    topics=_TOPICS,
    reason=any_case(r"\b(?:because|since|so that|the reason|due to|in order to|otherwise|as (?:it|they|we|this))\b"),
    concrete=late_pattern(r"\d|(?<=[a-z,;] )(?!I\b)[A-Z][\w.+#-]+|`[^`]+`|[A-Za-z]{3,}(?=[\u4e00-\u9fff])"),
    passing=any_case(
        r"\b(?:lunch|dinner|breakfast|weather|tonight|right now|for now|this (?:morning|afternoon|evening)|today"
        r"|tomorrow|haha|lol|joking|bored|hungry|tired|coffee break)\b"
    ),
    hanging=any_case(r"^(?:it|this|that|these|those|they|he|she)\b"),
    asking=any_case(
        r"[?？]\W*$|^(?:can|could|would|will|do|does|did|is|are|what|which|who|where|when|why|how|should|please "
        r"(?!always|never)|continue|go on|proceed|investigate|fix|run|look|check|read|implement|refactor|find|list"
        r"|translate|rewrite|summari[sz]e|help|tell|show|write|give|explain|thanks|thank you|hi|hello)\b"
    ),
    opening=any_case(
        r"^(?:(?:ok|okay|so|well|yes|yeah|right|great|good|fine|alright|then|and|but|also|by the way"
        r"|thanks)[,.!:;]?\s+)+"
    ),
    said_as=(
        (any_case(r"^\s*let['’]?s\s+"), "User decided to "),
        (any_case(r"^\s*please\s+"), "User asks to "),
    ),
    after='Said after {who}: "{line}"',
    own_words="In the user's own words on {day}.",
)

_WHO = r"(?P<who>User and others|User)(?: and others)? (?:\w+ly |again |also |then |once more )*(?:has |have )?"
_THING = r"(?P<thing>.+)$"
_CHOSEN = (
    (
        "chooses",
        (
            r"decided (?:to (?:use|go with|choose|take|pick|adopt|stay with|keep)|on|for)|decides (?:to use|on)|chose"
            r"|chosen|picked|selected|opted for|went with|goes with|settled on|switched to|agreed (?:on|to use)"
            r"|adopted|is going with|are going with|chooses?|picks?"
        ),
    ),
    ("prefers", r"prefers?|preferred|would rather (?:use|have)"),
    ("orders", r"ordered|orders?"),
    ("books", r"booked|books?|reserved"),
    ("buys", r"bought|buys?|purchased"),
)
_CHOICES = ChoiceRules(
    rules=tuple((verb, any_case(f"{_WHO}(?:{wordings}) {_THING}")) for verb, wordings in _CHOSEN),
    tail=any_case(
        r"(?:,|;|\(|（|，|；| [-–—] )[\s\S]*$"
        r"|\s+(?:for|over|because|since|as|in|on|at|with|when|while|instead|rather|to|and|but|so|from|after|before"
        r"|until|this|last|next|again|once|today|yesterday|tonight|too|also|by|during)\b[\s\S]*$"
    ),
    article=any_case(r"^(?:an?|the|some|another|one|his|her|their|User['’]s|this|that)\s+"),
    refused=any_case(
        r"\b(?:not|never|n['’]t|no longer|neither|nor|stop(?:ped)?|quit|gave up|against|almost|nearly|would have"
        r"|considered|considering|might|may|could|whether|if|unless)\b|\?"
    ),
    summary="{who} usually {verb} {thing} ({times} times from {first:%Y-%m-%d} to {last:%Y-%m-%d})",
    plural=lambda who, verb: (
        ("go with" if verb == "goes with" else verb.removesuffix("s")) if who.endswith("others") else verb
    ),
)

LANGUAGE = Language(
    code="en",
    common=STOP_WORDS,
    user="User",
    third_person=third_person,
    intensifier=any_case(
        r"(?<!\ba )(?<!\ban )(?<!\bnot )(?<!n['’]t )(?<![\"“])\b(?:recently|lately|just|a (?:lot|bit)|really|very"
        r"|quite|definitely|absolutely|actually|honestly|totally|truly|incredibly|basically|certainly|indeed|simply"
        r"|extremely|particularly|especially)\s+(?!\w+ly\b|(?:that|since|because|when|for|the|of|in|on|at|with|as|if"
        r"|a few|a bit)\b)|,\s+(?:actually|though|by the way|too|you know)$"
    ),
    statements=_STATEMENTS,
    kinds=_KINDS,
    slots=SLOTS,
    dates=_DATES,
    salience=_SALIENCE,
    restating=RESTATING,
    gems=_GEMS,
    choices=_CHOICES,
    asks_assistant=late_pattern(
        r"\byou (?:(?:had|have|just|specifically|also|once|previously|earlier) )*(?:recommended|suggested|mentioned"
        r"|said|told|gave|provided|advised|proposed|listed|described|explained|wrote|shared|named|referred|were)\b"
        r"|\bdid you (?!know\b)|\byour (?:\w+ )?(?:recommendation|suggestion|advice|answer|reply|explanation)s?\b"
        r"|\b(?:previous|last|earlier|past) (?:chat|conversation|discussion)\b"
        r"|\bwe (?:talked|discussed|spoke|chatted)\b|\bremind me\b"
    ),
    courtesies=(
        "hi hello hey greetings good morning afternoon evening night bye goodbye welcome thanks thank thx ty cheers "
        "you your youre you're so very much a lot ok okay k sure alright right great nice cool perfect awesome "
        "wonderful excellent fine yes yeah yep yup no nope of course absolutely exactly indeed got it sounds good "
        "please sorry np problem worries the lol haha hmm well done noted understood"
    ),
)
