"""Which parts of a message state something: sentences cut into clauses, without what is no statement of the user.

Answers for spans into the text as it is. Left alone are questions, conditions and guesses, greetings and thanks, orders
and talk to the assistant, text that the user wants worked on, quoted lines, code, and lines that somebody else speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.text import sanitise, scripts
from mnemic.text.facts import verbs
from mnemic.text.late_pattern import late_pattern
from mnemic.text.sentences import sentences

MAX_MESSAGE_CHARS = 8000
"""More than the beginning of a message is not read: who writes so much has pasted it."""

MAX_STATEMENT_CHARS = 400
"""A longer sentence is no single fact."""

_HAN = late_pattern(f"[{scripts.HAN}]")

_OPENING = late_pattern(
    r"(?:(?:yes|yeah|yep|no|nope|well|oh|ok|okay|sure|absolutely|definitely|exactly|indeed|honestly|great|right|true"
    r"|agreed|of course|anyway|hi|hello|hey|thanks|thank you|thx|good (?:morning|afternoon|evening)|perfect|nice|cool"
    r"|awesome|certainly|totally|wow|haha|lol|hmm|sorry|unfortunately|luckily|fortunately|personally|lately|update|note"
    r"|fyi|ps|edit|also|actually|besides|plus|so|and|but|then|oh no|alas|overall|again)"
    r"(?: (?:there|all|again|so much|everyone|for that|a lot|to (?:hear|know)))?\s*[,!.:;–—-]+\s+"
    r"|(?:also|actually|and|but|so|plus|because|by the way|btw|just|oh),?\s+"
    r"(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)"
    r"|(?:(?:please |and |just )*(?:remember|note|keep in mind|bear in mind|don['’]t forget|know)(?: that|:)\s+)"
    r"|(?:(?:and|but|oh|also|so)\s+)?(?:by the way|btw)[,:–—-]*\s+(?=(?:speaking|i|i['’]\w+|my|we|we['’]\w+|our)\b)"
    r"|(?:and |but |oh,? )*(?:speaking|talking) of (?:which|that|this|the\b[^,.?!]{1,40}|(?!my\b|our\b)[^,.?!]{1,40})"
    r",\s+(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)(?![^.?!]{0,30}\b(?:it|them|one)\b)"
    r"|(?:for instance|for example|except|i (?:have to|must) (?:say|admit)|believe it or not|like|wait|guess what"
    r"|you know what|to give you some context|for context|in fact|as it happens"
    r"|come to think of it|on (?:another|a different|a side|a related|that) note)[,:–—-]+\s+"
    r"(?=(?:i|i['’]\w+|my|we|we['’]\w+|our)\b)"
    r"|(?:just so you know|for the record|to be honest|as i (?:said|mentioned)|as you (?:know|may know)|for your"
    r" information|in case it helps|one more thing|fun fact|for me|i mean|you know|you see)\s*[,:–—-]*\s+"
    r"(?=(?:i|i['’]\w+|my|we|our|that|the)\b)"
    r"|(?:sounds|that sounds|that['’]s)\s+(?:good|great|perfect|nice|wonderful|helpful|interesting|true|right)"
    r"\s*[,.!]\s+)+",
    re.IGNORECASE,
)
_QUESTION = (
    r"(?:can|could|would|will|do|did|have|are) you\b|speaking of (?:which|that)\b"
    r"|(?:any|what|how|which|where|should|can|could) (?!about\b)[^,]*\?"
)
_CUT = late_pattern(
    r"(?:\s*[;–—]\s*|,?\s+(?:and|but|so|while|though|although|plus|also|then)\s+(?:also\s+|now\s+|then\s+)?|,\s+)"
    rf"(?=(?:I|i|I['’](?:m|ve|ll|d)|my|My|we|our)\b|{_QUESTION})|\s+-{{1,3}}\s+(?={_QUESTION})"
)
_REASON = late_pattern(
    r"(?:^|,?\s+(?:especially\s+|particularly\s+)?)(?i:since|because|as|now that|given that"
    r"|(?:considering|seeing)(?: that)?(?=[^,?]*(?: (?:am|is|are|was|were|have|has|had)|['’](?:m|ve))\b))\s+(?=(?:I"
    r"|i|I['’](?:m|ve)|my|we|we['’](?:re|ve)|our)\b)"
)
"""What follows gives the reason of a question or of a request, and is told as true."""

_REASON_ENDS = late_pattern(
    r",\s+(?=(?:what|how|which|where|who|when|why|can|could|would|will|do|does|did|is|are|should|please|any|give|help"
    r"|suggest|recommend|tell|show|i['’]d|i was|i would|i want|i need|i wonder|let['’]s)\b)",
    re.IGNORECASE,
)
_SUBORDINATE = late_pattern(
    r"\b(?:if|when|whenever|since|because|although|though|while|as|after|before|once|until|unless|that|which|who"
    r"|where|whether|than)\b[^,;]*$",
    re.IGNORECASE,
)
_COMMENT = late_pattern(
    r"\s*(?:[,;–—-]|,?\s+(?:and|but|so|which))\s+(?:it|that|this|which)?(?:['’]s|\s+(?:is|was|has|had|seems?|feels?"
    r"|felt))"
    r"\s+[^,;]*$",
    re.IGNORECASE,
)
_TELLING = late_pattern(r"\d|(?<=[a-z,] )(?!I\b)[A-Z][a-z]|\b(?:since|because|as) (?:I|my)\b")
"""A comment with a number, a name or a reason of the speaker's in it says more than an opinion."""

_NO_OBJECT = late_pattern(
    r"i (?:\w+ly )?(?:stopped|quit|did|do|don['’]t|didn['’]t|failed|recovered|survived|agreed|tried"
    r"|gave up)\b(?! \w+ing|\s+(?:my|the|like))",
    re.IGNORECASE,
)
_VERB = late_pattern(
    r"\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|can|could|will|would|['’](?:m|s|re|ve|ll|d))\b"
    r"|['’](?:m|s|re|ve|ll|d)\b|\b[a-z]+(?:ed|s)\b|\bI\s+[a-z]+|\bwe\s+[a-z]+",
    re.IGNORECASE,
)
_NO_STATEMENT = late_pattern(
    r"[?？][\"'”’)\]]*\s*$"
    r"|^(?:can|could|would|will|do|does|did|is|are|was|were|have|has|should|shall|may|might|what|which|who|whom|whose"
    r"|where|when(?! (?:i|we|my)\b)|why|how|any (?:idea|thought|tip|suggestion|recommendation)s?)\b"
    r"|^(?:if|unless|suppose|supposing|imagine|pretend|assuming|assume|let['’]?s|let us|say|what if|as if|whether)\b"
    r"|\bif (?:i|we|my)\b|\bas (?:if|though)\b|\b(?:i|we) wish\b|\bwish (?:i|we)\b"
    r"|\b(?:i|we) (?:\w+ )?(?:might|may|could(?!n)|would(?! (?:\w+ )?(?:like|love|prefer|rather|hate)\b))\b"
    r"|\b(?:i|we)['’]d (?!(?:\w+ )?(?:like|love|prefer|rather|hate|been|had|better)\b|\w+ed\b)"
    r"|\b(?:maybe|perhaps|hypothetically|hopefully)\b"
    r"|^(?:please|kindly|skip|provide|feel free|let me|tell|give|show|help|write|draft|explain|list|find|make"
    r"|create|generate|translate|summari[sz]e"
    r"|rewrite|describe|compare|suggest|recommend|remind|act|ignore|forget|stop|keep|use|try|look|check|fix|add|remove"
    r"|convert|calculate|compute|plan|pretend|continue|go on|do not|don['’]t|never mind|call|set|open|search|send)\b"
    r"(?!.*\bme\b.*\bi(?:['’]m| am)\b)"
    r"|\b(?:i|we)(?:['’]d| would)? (?:want|need|like|expect|ask|asked|told|beg|prefer) (?:for )?you\b"
    r"|\b(?:i|we)(?:['’]d| would|['’]m|['’]ve)? (?:\w+ )?(?:(?:like|love|want|need|have|wondering|trying)(?: \w+)? )?"
    r"(?:to (?:know|ask|hear|understand) (?:if|what|how|why|whether|more|your|about|you)|to ask (?:you|about|if|an?"
    r"|some|one|another)\b|to ask\W*$|wonder|wondering|(?:a|some|a few|another|one more)(?: more)? questions?)\b"
    r"|\b(?:i|we)(?:['’]d| would)? (?:\w+ly |also )?(?:like|love|want|need) to (?:know|hear)\b"
    r"|\b(?:looking (?:for|to get|to find)|(?:would|['’]d) (?:like|love|appreciate)) (?!to\b)(?:(?:some|any|a few"
    r"|more|your|new|good|other|general|specific) ){0,3}(?:[\w-]+ ){0,3}?"
    r"(?:recommendations?|suggestions?|tips|advice|ideas?|information|resources|guidance|help)\b(?!.*\b(?:my|our|i"
    r"|i['’]m)\b)"
    r"|\b(?:i|we) (?:need|want)(?:ed)? (?:your |some |a bit of )?(?:help|advice|tips|suggestions|assistance)\b"
    r"|\byou(?:['’]\w+)? (?:said|mentioned|suggested|recommended|told|are|were|can|could|should|just|have|mean|know)\b"
    r"|\byour (?:answer|advice|suggestions?|help|insights?|support|recommendations?|reply|response|point|ideas?"
    r"|encouragement|time|patience|guidance|assistance|explanation|previous|last|system|instructions?)\b"
    r"|^(?:thanks?|thank you|many thanks|thx|cheers|bye|goodbye|see you|take care|good (?:night|morning|luck)|hi|hello"
    r"|hey|welcome|congrat\w*)\b"
    r"|\b(?:i|we) (?:really |truly |also |do |totally |completely )*(?:appreciate (?:it|that|this|you)|agree\b"
    r"|see\b\W*$|understand\b\W*$|hope (?:so|not)|think so|guess so|get it|got it|will do|look forward to)"
    r"|\b(?:i['’]ll|i will|will) (?:definitely |certainly |surely )?(?:keep (?:that|this|it|you)|let you know|do that"
    r"|try (?:that|this|it)|think about (?:it|that)|check (?:it|that|them))\b"
    r"|\blooking forward to (?:our|your|hearing|talking|chatting|the next|it)\b|\bour (?:next )?conversations?\b"
    r"|[\"“][^\"”]*\b(?:i|my|me|we|our)\b[^\"”]*[\"”]"
    r"|\bsuppose\b|\b(?:just |only )?(?:kidding|joking)\b|\bfor example\b|\be\.g\.",
    re.IGNORECASE,
)
_CONDITION = late_pattern(
    r"^(?:if|unless|suppose|supposing|imagine|assuming|assume|let['’]?s say|what if|as an example|say)\b"
    r"|^(?:如果|假如|要是|假设|倘若|万一|即使)",
    re.IGNORECASE,
)
_WORKED_ON = late_pattern(
    r"\b(?:translate|rewrite|rephrase|paraphrase|proofread|correct|edit|summari[sz]e|improve|draft|write|compose"
    r"|analy[sz]e|review)\b.*(?::\s*$|\b(?:following|below|this (?:text|email|letter|paragraph|sentence|essay"
    r"|passage))\b"
    r"|:\s+\S)"
    r"|\b(?:write|compose|draft) (?:me |us )?(?:an? |the |some )?(?:\w+ )?(?:story|poem|song|novel|scene|script"
    r"|dialogue|essay|cover letter|lyrics|speech|role-?play)\b|\b(?:role-?play|pretend|act as|you are now)\b"
    r"|(?:翻译|润色|改写|续写|写一[篇首封个段]|扮演|假装|帮我写|总结一下).*",
    re.IGNORECASE,
)
_SPEAKER = late_pattern(
    r"(?:[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*)?|user|assistant|system|human|ai)\s*[:：]\s"
    r"|(?:[\w\u4e00-\u9fff]{1,6})[:：]\s*[“\"「我]",
    re.IGNORECASE,
)
_OWN_LABEL = late_pattern(
    r"(?:note|update|ps|p\.s\.|fyi|edit|btw|also|remember|fact|background|context|me)\b", re.IGNORECASE
)
_CODE = late_pattern(r"^\s*(?:```|~~~|>|\||[{}<>/#$])|^\s{4,}\S.*[;{}()=]\s*$")

_ZH_CUT = late_pattern(
    r"[，,；;]\s*(?:而且|但是|但|不过|所以|然后|也|还)?(?=我|咱)|[，,；;]\s*(?:而且|但是|不过|所以|然后)"
)
_ZH_OPENING = late_pattern(
    r"(?:(?:你好|您好|嗨|谢谢你?|多谢|好的|嗯+|是的|对了?|哦|其实|另外|顺便说一下|顺便|还有|请?记住|请?记得|说实话|对我来说"
    r"|总之|没错|当然|不|哈+)[，,。！!：:、\s]+|(?:而且|但是|不过|所以|然后|其实|因为)(?=我|咱))+"
)
_ZH_NO_STATEMENT = late_pattern(
    r"[?？][”」』）)]*\s*$|[吗呢么嘛][。！!.~～…\s]*$|吗[，,]"
    r"|^(?:请|帮|麻烦|能不能|可以|给我|告诉我|写|翻译|解释|介绍|推荐|列出|教我|别|不要|继续|说说|讲讲)"
    r"|^(?:如果|假如|要是|假设|倘若|万一|即使|比如|例如)|(?:如果|假如|要是|假设)我"
    r"|我(?:可能|也许|或许|大概|说不定|恐怕)|^(?:可能|也许|或许)|^(?:什么|怎么|为什么|哪|谁|几|多少|何时)"
    r"|(?:什么|怎么样?|为什么|哪里|哪个|是否|多少)[。！!\s]*$|要不要|是不是|能不能|有没有"
    r"|^(?:谢谢|多谢|感谢你|再见|晚安|早上好|晚上好|你好|您好|拜拜|不客气|辛苦)"
    r"|(?:我)?(?:想问|想知道|想请问|请问|想让你|需要你|希望你|要你|同意|明白了|知道了|懂了|了解了)"
    r"|你(?:刚才|之前)?(?:说|提到|建议|推荐|觉得|认为|能|会|可以|知道)|你的(?:建议|回答|帮助|意见)"
    r"|开玩笑|逗你|[“「][^”」]*我[^”」]*[”」]"
)


_SHORTEST_ZH = 4
"""Fewer characters before a comma are no clause."""

_PAIR_WORDS = 4
"""More words before "and I" are a clause, no name of a person."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that may hold a fact: half-open span in the message, without outer white space and closing marks."""

    start: int
    end: int
    text: str
    is_chinese: bool
    is_whole: bool = True
    """False for a part of a sentence."""


def statements(text: str) -> list[Statement]:
    """The statements of a message in order, without overlap. No string raises."""
    text = text[:MAX_MESSAGE_CHARS]
    hostile = [finding.span for finding in sanitise.findings(text)]
    found: list[Statement] = []
    is_material = False
    for start, end in sentences(text):
        if is_material or _CODE.match(text[start:end]):
            continue
        if _WORKED_ON.search(text[start:end]):
            is_material = True
            continue
        if not any(left < end and start < right for left, right in hostile) and not _is_anothers(text[start:end]):
            found.extend(_clauses(text, start, end))
    return found


def is_chinese(text: str) -> bool:
    """True where Chinese characters carry a text."""
    return len(_HAN.findall(text)) * 4 >= sum(character.isalpha() for character in text) > 0


def _is_anothers(sentence: str) -> bool:
    return _SPEAKER.match(sentence) is not None and _OWN_LABEL.match(sentence) is None


def _clauses(text: str, start: int, end: int) -> Iterator[Statement]:
    sentence = text[start:end]
    chinese = is_chinese(sentence)
    opening, refused = (_ZH_OPENING, _ZH_NO_STATEMENT) if chinese else (_OPENING, _NO_STATEMENT)
    if (greeting := opening.match(sentence)) is not None and greeting.end() < len(sentence):
        start += greeting.end()
    if _CONDITION.search(text[start:end]):
        return
    if refused.search(text[start:end]) and not _keeps_parts(text[start:end], chinese=chinese):
        if not chinese and (reason := _reason(text, start, end)) is not None and not refused.search(reason.text):
            yield reason
        return
    edges = _edges(text[start:end], chinese=chinese)
    for left, right in edges:
        piece = text[start + left : start + right]
        if (
            not chinese
            and len(edges) == 1
            and (comment := _COMMENT.search(piece))
            and comment.start() > len(piece) // 3
            and not _TELLING.search(comment.group())
        ):
            piece = piece[: comment.start()]
        piece, shift = _trimmed(piece, opening if left else None)
        begin = start + left + shift
        if (
            piece
            and len(piece) <= MAX_STATEMENT_CHARS
            and not refused.search(piece + _closing(text, start + right, end))
        ):
            yield Statement(begin, begin + len(piece), piece, chinese, is_whole=len(edges) == 1)


def _reason(text: str, start: int, end: int) -> Statement | None:
    """The reason that a question gives: "Since I am allergic to nuts, what can I bake?"."""
    sentence = text[start:end]
    if (match := _REASON.search(sentence)) is None or _tells_a_time(sentence, match):
        return None
    until = _REASON_ENDS.search(sentence, match.end()) if match.start() == 0 else None
    if match.start() == 0 and until is None:
        return None
    piece, shift = _trimmed(sentence[match.end() : len(sentence) if until is None else until.start()].rstrip("?"), None)
    begin = start + match.end() + shift
    return Statement(begin, begin + len(piece), piece, is_chinese=False, is_whole=False)


def _tells_a_time(sentence: str, match: re.Match[str]) -> bool:
    """True for "since we last spoke", as no reason is."""
    if "since" not in match.group().lower():
        return False
    is_apart = match.start() == 0 or match.group().startswith(",")
    subject, *words = re.findall(r"[\w'’]+", sentence[match.end() :].lower())[:4]
    return (
        any(verbs.is_past(word) for word in words)
        if subject in ("i", "we")
        else not is_apart and subject in ("my", "our")
    )


def _keeps_parts(sentence: str, *, chinese: bool) -> bool:
    """A question or a thanks may follow a statement in one sentence: "I moved to Rome, can you …?" keeps its start."""
    return len(_edges(sentence, chinese=chinese)) > 1


def _closing(text: str, right: int, end: int) -> str:
    """The question mark that belongs to the last clause."""
    return text[right:end] if right >= end - 1 else ""


def _trimmed(piece: str, opening: re.Pattern[str] | None) -> tuple[str, int]:
    """The piece without its outer marks, and how much was cut from its start."""
    left = len(piece) - len(piece.lstrip(" \t\r\n,;:–—-*•，；、"))
    piece = piece[left:]
    if opening is not None and (match := opening.match(piece)) is not None and match.end() < len(piece):
        left, piece = left + match.end(), piece[match.end() :]
    return piece.rstrip(" \t\r\n.,;:!。，；！…~～–—-"), left


def _edges(sentence: str, *, chinese: bool) -> list[tuple[int, int]]:
    """Where the clauses of a sentence with subjects of their own begin and end."""
    edges: list[tuple[int, int]] = []
    begin = 0
    for cut in (_ZH_CUT if chinese else _CUT).finditer(sentence):
        left = sentence[begin : cut.start()]
        if not chinese and (not _VERB.search(left) or _is_tied(left, cut.group()) or _is_pair(left, sentence, cut)):
            continue
        if not chinese and _NO_OBJECT.match(sentence, cut.end()):
            continue
        if chinese and len(left) < _SHORTEST_ZH:
            continue
        edges.append((begin, cut.start()))
        begin = cut.end()
    return [*edges, (begin, len(sentence))]


def _is_tied(left: str, joint: str) -> bool:
    """A comma after "When I moved to Rome" does not end a statement; an "and" within "that I like" does not either."""
    opened = _SUBORDINATE.search(left)
    return opened is not None and (joint.strip() == "," or opened.start() == 0)


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
