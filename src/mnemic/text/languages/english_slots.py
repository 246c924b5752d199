"""Which attribute of the user an English sentence fills: in a profile, in a fact, and in the words of a memory."""

from __future__ import annotations

import re

from mnemic.text.languages import SlotRules, any_case, rules, words
from mnemic.text.late_pattern import late_pattern

_WORD = r"[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][\w'’.-]*\w"
_TITLE = rf"{_WORD}(?:[ ]{_WORD}){{0,3}}"
_PLACE = rf"{_TITLE}(?:,[ ]{_WORD}(?:[ ]{_WORD})?)?"
_START = r"(?:^|[,;:.!–—-][ ]*|\b(?:and|so|also|hi|hello|hey|well)[ ,]+)"
_NOW = r"(?:(?:currently|now|just|recently|still|also|actually)[ ]+)?"
_AM = r"I(?:['’]m|[ ]am)[ ]"
_HAVE = r"I(?:['’]ve|[ ]have)?[ ]"
_DONE = r"(?=[ ]*(?:[,.;:!)–—]|$|[ ](?:and|but|with|near|since|as|in|at|for|now|where|because|who|so|from|too)\b))"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"(?:the[ ])?\d{1,2}(?:st|nd|rd|th)?"
_DATE = rf"(?:{_MONTH}[ ]{_DAY}(?:,?[ ]\d{{4}})?|{_DAY}(?:[ ]of)?[ ]{_MONTH}(?:,?[ ]\d{{4}})?|\d{{4}}-\d\d-\d\d)"
_OF_A_HOME = r"(?=.*\b(?:flat|apartment|house|city|town|country|live|living|home|rent|neighbou?rhood)\b)"
_LANGUAGES = rf"{_WORD}(?:(?:,[ ]|[ ]and[ ]|,[ ]and[ ]){_WORD}){{0,4}}"
_ROLE = r"[A-Za-z][\w/&’'-]*(?:[ ](?!at\b|in\b|for\b|and\b|but\b|with\b|on\b|by\b|from\b|to\b|of\b)[\w/&’'-]+){0,3}"
_PLAIN = rules(
    (
        "name",
        rf"{_START}(?:[Mm]y[ ](?:full[ ]|first[ ])?name(?:[ ]is|['’]s)|I[ ]go[ ]by)[ ](?P<value>{_TITLE}){_DONE}",
    ),
    (
        "name",
        rf"(?:^|[,;.!][ ]*|\band[ ])(?:[Pp]lease[ ]|you[ ]can[ ]|just[ ])?[Cc]all[ ]me[ ](?P<value>{_WORD}){_DONE}",
    ),
    (
        "home",
        rf"{_START}(?:I[ ]{_NOW}live|{_AM}{_NOW}(?:living|based))[ ]in[ ](?:the[ ])?(?P<value>{_PLACE}){_DONE}",
    ),
    ("home", rf"{_START}{_HAVE}{_NOW}relocated[ ]to[ ](?P<value>{_PLACE}){_DONE}"),
    (
        "home",
        rf"{_START}{_OF_A_HOME}{_HAVE}{_NOW}moved[ ](?:from[ ]{_PLACE}[ ])?to[ ](?P<value>{_PLACE}){_DONE}",
    ),
    ("job", rf"{_START}I[ ]{_NOW}work[ ]as[ ](?:an?[ ]|the[ ])?(?P<value>{_ROLE}){_DONE}"),
    ("job", rf"{_START}{_AM}{_NOW}(?:an?[ ])(?P<value>{_ROLE})[ ](?:by[ ](?:profession|trade)|for[ ]a[ ]living)\b"),
    ("employer", rf"{_START}I[ ]{_NOW}work[ ](?:as[ ][^,.;]{{1,60}}?[ ])?(?:at|for)[ ](?P<value>{_TITLE}){_DONE}"),
    ("language", rf"{_START}I[ ]{_NOW}speak[ ](?:fluent[ ]|mainly[ ]|only[ ])?(?P<value>{_LANGUAGES}){_DONE}"),
    (
        "language",
        rf"{_START}[Mm]y[ ](?:(?:native|first)[ ]language|mother[ ]tongue)[ ]is[ ](?P<value>{_LANGUAGES}){_DONE}",
    ),
    ("birthday", rf"{_START}[Mm]y[ ]birthday(?:[ ]is|['’]s)[ ](?:on[ ])?(?P<value>{_DATE}){_DONE}"),
    ("birthday", rf"{_START}I[ ]have[ ]my[ ]birthday[ ]on[ ](?P<value>{_DATE}){_DONE}"),
)

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’.-]*"
_CAPITALS = rf"{_CAPITAL}(?: {_CAPITAL}){{0,3}}(?:, {_CAPITAL}(?: {_CAPITAL})?)?"
_NO_TRADE = r"(?:at|in|for|and|but|with|on|by|from|who|now|last|this|next|a|since)\b"
_TRADE = rf"[a-z][\w&/’'-]*(?: (?!{_NO_TRADE})[\w&/’'-]+){{0,3}}"
_LATE = r"(?:(?:just|now|recently|finally|currently|also|still) )*"
_STATUS = "vegetarian|vegan|pescatarian|lactose intolerant|gluten[- ]free|keto|halal|kosher"
_LOOSE = rules(
    (
        "home",
        (
            rf"\bI(?:['’]ve| have|['’]m| am)? {_LATE}(?:moved|relocated"
            rf"|moving) (?:back )?(?:from {_CAPITALS} )?to (?P<value>{_CAPITALS})"
        ),
    ),
    ("home", rf"\b(?:I|we) {_LATE}live in (?P<value>{_CAPITALS})"),
    (
        "job",
        (
            rf"\bI(?:['’]ve| have)? {_LATE}(?:(?:been |got |was )+(?:promoted to|hired as|appointed(?: as)?)"
            rf"|bec[ao]me(?= an? | the )"
            rf"|accepted a promotion to) (?:an? |the )?(?P<value>(?:{_CAPITALS}|{_TRADE}))(?= (?:at|of|in|on|last"
            rf"|this)\b|$|[,.])"
        ),
    ),
    ("job", rf"\bI(?:['’]m| am) {_LATE}an? (?P<value>{_TRADE}) (?:at|for) {_CAPITAL}"),
    (
        "job",
        (
            rf"\bI(?:['’]ve| have|['’]m| am)? {_LATE}(?:(?:got|found|took|accepted|landed|start(?:ed|ing)) a (?:new )?"
            rf"(?:job|position|role)|started(?: working)?|now work|working) as (?:an? |the )?(?P<value>{_TRADE})"
            rf"(?= (?:at|of|in|on|for|last|this)\b|$|[,.])"
        ),
    ),
    (
        "employer",
        (
            rf"\bI(?:['’]ve| have|['’]m| am)? {_LATE}(?:started (?:working )?at|joined|work(?:ing)? (?:at"
            rf"|for)) (?P<value>{_CAPITALS})(?= as\b| last\b| this\b| now\b|,|$)"
        ),
    ),
    ("age", r"\bI(?:['’]m| am| (?:just )?turned) (?P<value>\d{1,2})(?: years old)?(?=$|[,.]| and\b)"),
    (
        "diet",
        rf"\bI(?:['’]m| am|['’]ve (?:become|gone)| (?:became|went)) {_LATE}(?:an? )?(?P<value>{_STATUS})\b",
    ),
    (
        "relationship",
        (
            r"\bI(?:['’]m| am| got|['’]ve (?:just )?got) (?:now )?(?P<value>married|divorced|engaged|widowed|single)\b"
            r"(?!-| (?:in|to (?:my|the) (?:work|job)))"
        ),
    ),
)

_NAME = r"(?:[^\W\d_a-z][\w'\u2019.&-]*)"
_WHO = r"(?:(?:The[ ]|the[ ])?[Uu]ser|(?P<who>[^\W\d_a-z][\w-]+(?:[ ][^\W\d_a-z][\w-]+)?))"
_S = rf"{_WHO}[ ](?:(?:now|currently|also)[ ])?"
_OF = rf"{_WHO}['\u2019]s[ ](?:current[ ]|new[ ])?"
_VALUE = rf"(?P<value>{_NAME}(?:[ ](?:{_NAME}|de|da|do|of|la|le|am|upon|and|the|&))*(?:,[ ]{_NAME}(?:[ ]{_NAME})*)*)"
_POST = r"(?P<value>(?:(?!at\b|in\b|for\b|and\b|but\b|with\b|on\b|or\b)[\w/&'\u2019-]+[ ]?){1,5})"
_ANY = r"(?P<value>[^,;:.!?]{1,60}?|[\w.+-]+@[\w.-]+|\+?[\d ()/.-]+)"
_LATELY = r"(?:[ ](?:now|currently|these[ ]days|at[ ]the[ ]moment|at[ ]present))?"
_STATE = r"(?P<value>single|married|divorced|engaged|widowed|separated)"
_ATTRIBUTE = (
    r"(?P<slot>full name|first name|name|home|home city|job|job title|occupation|profession|employer|company|birthday"
    r"|date of birth|age|e-?mail(?: address)?|phone(?: number)?|time ?zone|relationship status|marital status"
    r"|favou?rite [\w ]{1,30}?)"
)
_TOLD = rules(
    ("home", rf"{_S}(?:lives|resides|is[ ]living|is[ ]based)[ ]in[ ]{_VALUE}{_LATELY}"),
    ("home", rf"{_S}(?:has[ ])?(?:just[ ]|recently[ ])?(?:moved|relocated)[ ]to[ ]{_VALUE}"),
    ("name", rf"{_S}is[ ](?:called|named)[ ]{_VALUE}"),
    ("job", rf"{_S}(?:works|is[ ]working)[ ]as[ ](?:an?[ ]|the[ ])?{_POST}{_LATELY}"),
    ("employer", rf"{_S}(?:works|is[ ]working)[ ](?:at|for)[ ]{_VALUE}{_LATELY}"),
    ("age", rf"{_S}is[ ](?P<value>\d{{1,3}})(?:[ ]years[ ]old)?"),
    ("relationship", rf"{_S}is[ ]{_STATE}{_LATELY}"),
    ("", rf"{_OF}{_ATTRIBUTE}[ ]is[ ](?:on[ ])?{_ANY}"),
)
_FEELINGS = {
    **dict.fromkeys(("likes", "enjoys", "is fond of", "does like"), "like"),
    **dict.fromkeys(("loves", "adores"), "love"),
    **dict.fromkeys(("dislikes", "does not like", "doesn't like", "does not enjoy", "doesn't enjoy"), "dislike"),
    **dict.fromkeys(("hates", "detests", "loathes", "cannot stand", "can't stand"), "hate"),
    **dict.fromkeys(("no longer likes", "no longer enjoys", "no longer loves", "does not love"), "no longer"),
    **dict.fromkeys(("stopped liking", "stopped enjoying", "stopped loving", "doesn't love"), "no longer"),
}
SLOTS = SlotRules(
    plain=_PLAIN,
    commission=late_pattern(
        r"```|^\s*>|\b(?:write|draft|compose|translate|rewrite|rephrase|proofread|paraphrase|essay|cover letter|lyrics"
        r"|poem|story|stories|novel|fiction|scene|screenplay|dialogue|transcript|role-?play\w*|pretend\w*|act as"
        r"|persona|character|example|e-?mail|letter|resume|résumé|cv|template|subject:|dear)\b",
        re.IGNORECASE | re.MULTILINE,
    ),
    unsure=any_case(
        r"[?？\"“”«»「」『』‘]|\b(?:not|never|no|nor|neither|without|if|whether|unless|would|could|should|might|may|maybe|perhaps|probably"
        r"|wish|hope|want|wanted|plan|planning|going to|dream\w*|imagine\w*|suppose\w*|as though|as if|let's say|say"
        r"|says|said|saying|told|tell|tells|asked|asks|wrote|writes|thinks|thought|think|claims?|claimed|joke|joking"
        r"|kidding|used to|formerly|previously|once|until|before|when|while|back then|ago|was|were|anymore|former|ex"
        r"|temporarily|all day|then|he|she|they|his|her|their|someone|somebody|people|everyone|lyric|quote)\b|n['’]t\b"
    ),
    first_person=any_case(r"\b(?:I|my|me|mine)\b"),
    no_value=late_pattern(
        r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Tomorrow|Today|Later|Maybe|Back|I|It|The|Mr|Mrs"
        r"|Ms|Sir|volunteer|well|part|usual|expected|intended|team|hard|long|much|soon|little)\b"
    ),
    loose=_LOOSE,
    doubt=any_case(
        r"\b(?:not|never|used to|almost|want|plan|hope|when|before|until|back in|ago)\b|n['’]t\b|\bi was\b(?! "
        r"(?:promoted|hired|appointed))"
    ),
    favourite=late_pattern(
        r"\b[Mm]y favou?rite (?P<thing>[a-z]+(?: [a-z]+)?) (?:is|are) (?:now )?(?P<value>[^,.;]{2,60})$"
    ),
    how_long=late_pattern(
        r"\bI(?:['’]ve| have) (?:\w+ly |now |just )?been (?P<thing>[^,.;]{4,80}?) for (?:about |around |over |almost "
        r"|nearly )?(?P<value>(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) (?:week|month"
        r"|year)s?)(?: now)?$"
    ),
    told=_TOLD,
    change=late_pattern(r"[ ](?:moved|relocated)[ ]to[ ]"),
    feels=late_pattern(
        rf"{_S}(?P<feeling>{'|'.join(sorted(_FEELINGS, key=len, reverse=True))})"
        r"[ ]?(?P<object>[^,;:.!?，。；！？]{1,60})"
    ),
    feelings=_FEELINGS,
    stopped=late_pattern(r"(?P<rest>.+?)[ ](?:any[ ]?more|any[ ]longer)"),
    prefers=late_pattern(rf"{_S}prefers[ ](?P<one>[^,;:.!?]{{1,30}}?)[ ](?:to|over)[ ](?P<other>[^,;:.!?]{{1,30}})"),
    open_end=any_case(r"\b(?:and|but|when|if|because|while|until|unless|since|although|or|than)\b"),
    pronouns=words(
        "he she it they we you this that these those there who what one someone somebody everyone everybody nobody "
        "people the an my his her their our your"
    ),
    begins_first_person=("I ", "I'm ", "I\u2019m ", "My "),
    begins_lower=("user", "the user"),
)
