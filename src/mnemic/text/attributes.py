"""What users plainly say of themselves that lasts: name, home, job, employer, language, birthday. English and Chinese.

Rules, and careful ones: a wrong fact in a profile is in every prompt from then on, a missing one is no harm. So only
plain statements in the first person count; questions, negations, conditions, the past, quotes, reports, and texts that
the user wants written, translated or acted are passed over as a whole.
"""

from __future__ import annotations

import re
from functools import cache

from mnemic.text.sentences import sentences

MAX_MESSAGE_CHARS = 1500
"""A longer message is more likely to be pasted than told."""

MAX_SENTENCE_CHARS = 300

_COMMISSION = re.compile(
    r"```|^\s*>|\b(?:write|draft|compose|translate|rewrite|rephrase|proofread|paraphrase|essay|cover letter|lyrics|poem"
    r"|story|stories|novel|fiction|scene|screenplay|dialogue|transcript|role-?play\w*|pretend\w*|act as|persona"
    r"|character|example|e-?mail|letter|resume|résumé|cv|template|subject:|dear)\b"
    r"|帮我写|写一|翻译|润色|改写|扮演|假装|角色|故事|小说|剧本|作文|邮件|写信|台词|例如|比如|简历|例句|造句",
    re.IGNORECASE | re.MULTILINE,
)
_NO_STATEMENT = re.compile(
    r"[?？\"“”«»「」『』‘]|[吗呢么]"
    r"|\b(?:not|never|no|nor|neither|without|if|whether|unless|would|could|should|might|may|maybe|perhaps|probably"
    r"|wish|hope|want|wanted|plan|planning|going to|dream\w*|imagine\w*|suppose\w*|as though|as if|let's say|say"
    r"|says|said|saying|told|tell|tells|asked|asks|wrote|writes|thinks|thought|think|claims?|claimed|joke|joking|kidding"
    r"|used to|formerly|previously|once|until|before|when|while|back then|ago|was|were|anymore|former|ex|temporarily"
    r"|all day|then|he|she|they|his|her|their|someone|somebody|people|everyone|lyric|quote)\b|n['’]t\b"
    r"|不|没|别|如果|假如|要是|假设|可能|也许|或许|曾经|以前|之前|过去|希望|想|打算|计划|说过|他|她|别人|有人|梦|开玩笑|当时|那时|临时",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mine)\b|我", re.IGNORECASE)

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
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜戚谢邹喻苏潘葛范彭鲁韦马苗方俞任袁柳唐罗薛贺"
    "倪汤滕殷毕郝邬安常乐傅康伍余顾孟黄穆萧尹姚邵汪祁毛狄米贝戴宋庞熊纪舒屈项祝董梁杜阮蓝席季贾路江童颜郭梅林钟徐"
    "邱骆高夏蔡田樊胡凌霍万卢莫房丁邓郁崔龚程陆段侯武刘叶黎白赖乔谭"
)
_ZH_START = r"(?:^|[，,。；;：:！!、 ])"
_ZH_END = r"(?=[，,。；;！!、 ]|$)"
_ZH_NAME = rf"(?:[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}|(?:欧阳|司马|上官|诸葛)[\u4e00-\u9fff]{{1,2}}|[A-Z][A-Za-z]+)"
_ZH_PLACE = r"(?![^，,。；;！!、 ]*[这那哪楼里家店馆舍房园旁校附近山下])[\u4e00-\u9fff]{2,8}?"
_ZH_JOB = (
    r"[\u4e00-\u9fff]{0,6}(?:师|(?<![会党团成队])员|(?<!大)家|经理|教授|记者|司机|警察|护士|会计|编辑|医生|学生"
    r"|研究生|工人|农民|军人)"
)
_ZH_ORG = r"[\u4e00-\u9fffA-Za-z]{2,15}?(?:公司|银行|大学|医院|集团|研究所|研究院|出版社|学院|小学|中学)"

_RULES: tuple[tuple[str, str], ...] = (
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
    ("name", rf"{_ZH_START}(?:我叫|我的名字(?:是|叫)|我名叫)(?P<value>{_ZH_NAME}){_ZH_END}"),
    ("home", rf"{_ZH_START}我(?:现在|目前)?住在(?P<value>{_ZH_PLACE}){_ZH_END}"),
    ("home", rf"{_ZH_START}我(?:刚|最近|已经)?搬到了?(?P<value>{_ZH_PLACE})了?{_ZH_END}"),
    ("job", rf"{_ZH_START}我(?:现在|目前)?(?:是一[名位个]|的职业是|的工作是)(?P<value>{_ZH_JOB}){_ZH_END}"),
    ("employer", rf"{_ZH_START}我(?:现在|目前)?在(?P<value>{_ZH_ORG})(?:工作|上班){_ZH_END}"),
    ("language", rf"{_ZH_START}我的母语是(?P<value>[\u4e00-\u9fff]{{1,6}}[语文话]){_ZH_END}"),
    ("language", rf"{_ZH_START}我(?:会)?说(?P<value>[\u4e00-\u9fff]{{1,4}}[语文话]){_ZH_END}"),
    ("birthday", rf"{_ZH_START}我的?生日是(?P<value>(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号]){_ZH_END}"),
)

_NO_VALUE = re.compile(
    r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Tomorrow|Today|Later|Maybe|Back|I|It|The|Mr|Mrs|Ms|Sir"
    r"|volunteer|well|part|usual|expected|intended|team|hard|long|much|soon|little)\b"
)


@cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled when first asked for: a process that only recalls need not wait for them."""
    return tuple((key, re.compile(source)) for key, source in _RULES)


def attributes(text: str) -> dict[str, str]:
    """What a message of a user says of themselves, by key, in the words of the text; a later statement wins."""
    found: dict[str, str] = {}
    for statement in plain_statements(text):
        for key, rule in _rules():
            for match in rule.finditer(statement):
                value = match["value"].strip(" .,-–—")
                if value and not _NO_VALUE.match(value):
                    found[key] = value
    return found


def plain_statements(text: str) -> list[str]:
    """The sentences in which a user plainly says something of themselves, as things are now; none of a text that is to
    be worked on.
    """
    if len(text) > MAX_MESSAGE_CHARS or _COMMISSION.search(text):
        return []
    found = [text[start:end] for start, end in sentences(text)]
    return [
        sentence
        for sentence in found
        if len(sentence) <= MAX_SENTENCE_CHARS and _FIRST_PERSON.search(sentence) and not _NO_STATEMENT.search(sentence)
    ]
