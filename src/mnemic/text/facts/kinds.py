"""Of which kind a statement is: preference, goal, event, context, else a fact. By its wording, English and Chinese."""

from __future__ import annotations

import re

from mnemic.model.item import Kind
from mnemic.text.late_pattern import late_pattern

_ADVERBS = r"(?:(?:\w+ly|also|always|never|just|still|now|often|not|even) )*"
_I = rf"\b(?:i|we)(?:['’](?:m|ve|d|ll|re))? {_ADVERBS}"

_RULES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        Kind.GOAL,
        late_pattern(
            rf"{_I}(?:am |are |have |been |would )*{_ADVERBS}(?:plan|planning|want|intend|intending|aim|aiming|hope"
            rf"|hoping"
            r"|wish|aspire|going to|gonna|determined to|committed to|training for|saving (?:up )?(?:for|to)"
            r"|working towards?"
            r"|like to|love to|eager to|keen to|ready to|trying to|try to|set on|dream of|dreaming of|resolved to)\b"
            rf"|\b(?:my|our)(?: \w+)? (?:goal|aim|dream|plan|ambition|target|resolution|objective|mission)s?\b"
            rf"|{_I}will\b"
            r"|\b(?:i|we)['’]ll\b|我(?:\w{0,3})(?:想要|打算|计划|希望|准备|决心|立志|想(?!起|到|不)|要(?!是))"
            r"|(?:目标|梦想|愿望|计划)是",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.PREFERENCE,
        late_pattern(
            rf"{_I}(?:do not |don['’]t |am |are |have |been |really )*{_ADVERBS}(?:prefer|like|love|enjoy|hate"
            rf"|dislike|adore"
            r"|loathe|detest|favou?r|fond of|into |a (?:big |huge )?fan of|can['’]?t stand|cannot stand"
            r"|interested in|allergic"
            r"|passionate about|keen on|obsessed with|drawn to|tired of|sick of|avoid|avoiding|find|captivated by"
            r"|care about"
            r"|value)\b|\b(?:my|our)(?: \w+){0,2} (?:favou?rite|preference|taste|go-to)|\bfavou?rite\b"
            r"|\bi['’]d rather\b"
            r"|\bgo-to\b|我\w{0,4}(?:喜欢|爱(?!人|好)|讨厌|偏好|偏爱|热爱|更喜欢|不吃|不喝|最爱|钟爱|受不了|对.{1,8}(?:感兴趣|过敏))"
            r"|(?:爱好|兴趣)是",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.EVENT,
        late_pattern(
            rf"{_I}(?:have |had |was |were |got |been )*{_ADVERBS}(?:attended|visited|went|met|bought|moved|started"
            rf"|joined"
            r"|quit|finished|graduated|married|engaged|divorced|promoted|accepted|received|won|lost|broke|had"
            r"|watched|saw|read"
            r"|ran|completed|passed|failed|travell?ed|flew|hired|fired|adopted|launched|signed|sold|got|became"
            r"|began|decided"
            r"|celebrated|hosted|presented|published|took|made|gave|tried|learn(?:ed|t)|hurt|injured|switched"
            r"|changed|turned"
            r"|born|left|retired|enrolled|booked|cancelled|canceled|ordered|noticed|discovered|found|witnessed"
            r"|spent|called)\b"
            r"|\b(?:died|passed away|was born|got (?:married|engaged|divorced)|broke up)\b"
            r"|(?:昨天|前天|上周|上个月|去年|刚刚?|今天).*[了过]|我\w{0,6}(?:参加|毕业|结婚|离婚|买|去|搬|辞职|入职|升职|收到|看|见|丢|赢|输|生)\w{0,6}[了过]",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.CONTEXT,
        late_pattern(
            rf"\b(?:currently|these days|at the moment|right now|lately|recently|nowadays|this (?:week|month|year))\b"
            rf"|{_I}(?:use|using|run|running|am on|work with|working (?:on|with)|looking for|considering|thinking"
            rf"|exploring"
            r"|preparing|struggling|dealing with|feeling|feel|am in|on a|learning|studying|been \w+ing|am \w+ing)\b"
            r"|\bi['’](?:m|ve been) (?:\w+ly )?\w+ing\b|\b(?:i|we)(?:['’](?:m|re)| am| are) (?:on|in|at|using)\b"
            r"|最近|目前|现在|正在|我\w{0,2}(?:用|使用|在用|在做|在学|在找|在准备)",
            re.IGNORECASE,
        ),
    ),
)


def kind_of(statement: str) -> Kind:
    """The kind of a statement in the first person."""
    return next((kind for kind, rule in _RULES if rule.search(statement)), Kind.FACT)
