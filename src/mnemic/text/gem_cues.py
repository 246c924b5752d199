"""The words by which rules tell decisions, solutions, preferences and insights, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mnemic.text.late_pattern import late_pattern


@dataclass(frozen=True, slots=True)
class Cue:
    """A wording: the category that it speaks for, and how much it speaks for keeping the sentence."""

    category: str
    weight: float
    pattern: re.Pattern[str]


_ADVERBS = r"(?:(?:\w+ly|also|just|do|don['’]t|do not|would|much|still|always|never|did|didn['’]t) )*"


def _cue(category: str, weight: float, *wordings: str) -> Cue:
    return Cue(category, weight, late_pattern("|".join(wordings), re.IGNORECASE))


CUES = (
    _cue(
        "decision",
        1.2,
        r"\b(?:I|we)(?:['’]ve| have)? (?:\w+ )?(?:decided|chose|chosen|picked|settled on|opted|agreed"
        r"|concluded|committed to"
        r"|switched|dropped|rejected|ruled out)\b",
        r"\b(?:let['’]?s|(?:I|we)(?:['’]ll| will)) (?:\w+ )?(?:go with|stick with|stay with|use|switch|move to"
        r"|adopt|keep|drop"
        r"|replace)\b",
        r"\b(?:going with|(?:the|our|my) (?:final )?(?:decision|choice) (?:is|was)|made up my mind)\b",
        r"决定|选择了|选定|选了|改用|换成|就用|定下来|最终用|敲定|放弃了",
    ),
    _cue(
        "insight",
        1.2,
        r"\bturn(?:s|ed) out\b|\broot cause\b.{0,40}\b(?:is|was)\b|\blessons?\b.{0,20}\b(?:is|was|learn)"
        r"|\bnever again\b",
        r"\bthe (?:real |actual )?(?:problem|issue|bug|reason|cause|trick|fix|solution|answer) (?:is|was)\b",
        r"\b(?:fixed|solved|resolved|cured) (?:it|that|this|the|my|our)\b.*\b(?:by|with)\b",
        r"\b(?:I|we)(?:['’]ve| have)? (?:\w+ )?(?:reali[sz]ed|learn(?:ed|t)|found out|figured out|understood"
        r"|discovered)\b",
        r"原来|结果发现|根本原因|问题出在|解决了|教训|明白了.{4,}|意识到|学到",
    ),
    _cue(
        "preference",
        1.1,
        rf"\b(?:I|we) {_ADVERBS}(?:prefer|like|love|hate|dislike|can['’]?t stand|cannot stand|enjoy)\b"
        r"|\bI['’]d rather\b",
        r"\b(?:my|our) (?:favou?rite|preference)\b|\bplease (?:always|never)\b|\bI['’]m allergic\b"
        r"|\bI don['’]?t want\b",
        r"\b(?:I|we) (?:always|never) (?!(?:had|heard|seen|knew|thought|said|saw|was|were|got|\w+ed|ask|asked)\b)",
        r"我\w{0,3}(?:喜欢|讨厌|偏好|偏爱|习惯|受不了)|我(?:总是|从不|从来不)|请(?:总是|永远|不要再)|过敏",
    ),
    _cue(
        "decision",
        0.8,
        r"\bwe (?:should|must|need to|have to)\b|我们(?:应该|必须|得)",
    ),
    _cue(
        "plan",
        0.9,
        r"\b(?:I|we)(?:['’]m| am|['’]re| are)? (?:\w+ )?(?:plan(?:ning)? (?:to|on)|going to|intend to|aim to"
        r"|scheduled)\b",
        r"\b(?:the|our|my) (?:plan|goal|deadline|roadmap|target) (?:is|for)\b|\bby the end of\b",
        r"我\w{0,3}(?:打算|计划|准备)|目标是|截止",
    ),
    _cue(
        "project",
        0.7,
        r"\b(?:I|we)(?:['’]m| am|['’]re| are) (?:\w+ )?(?:building|working on|writing|developing|migrating"
        r"|designing)\b",
        r"\b(?:my|our) (?:project|app|product|company|startup|thesis|book|service|platform)\b",
        r"我\w{0,2}在(?:做|写|开发|搭建)|我们?的(?:项目|产品|公司|论文)",
    ),
    _cue(
        "knowledge",
        0.5,
        r"\b(?:I|we) (?:work|live|own|run|manage|study|speak)\b|\bmy (?:name|job|wife|husband|team|doctor"
        r"|boss) (?:is|are)\b",
        r"我(?:住在|叫|是一名|在.{2,10}工作)",
    ),
)
"""A sentence is judged by all of them."""

TOPICS = (
    _cue(
        "technical",
        0.0,
        r"\b(?:APIs?|SQL\w*|database|Postgres\w*|SQLite|Redis|Python|Rust|TypeScript|JavaScript|Java|Docker"
        r"|Kubernetes|Linux"
        r"|server|compiler|bug|cache|index|regex|git|library|framework|embedding|vector|model|query|test suite"
        r"|deploy\w*"
        r"|latency|memory leak|thread|encoding)\b",
        r"数据库|服务器|接口|代码|缓存|部署|模型|框架|编译|漏洞",
    ),
    _cue(
        "architecture",
        0.0,
        r"\b(?:architecture|schema|modules?|micro-?services?|monolith|layers?|database|event (?:bus|sourcing)"
        r"|message queue"
        r"|topology|data model|interface|vector (?:database|store))\b",
        r"架构|模块|微服务|单体|数据库|表结构|分层",
    ),
    _cue(
        "workflow",
        0.0,
        r"\b(?:workflow|process|pipeline|CI|code review|checklist|routine|stand-?up|every (?:morning|evening"
        r"|week|day|sprint"
        r"|release|monday|friday)|before (?:every|each)|review(?:s|ed)? (?:every|each|all))\b",
        r"流程|每天|每周|每次|例会|流水线|评审",
    ),
)
"""What a kept sentence is about, beside."""

REASON = late_pattern(
    r"\b(?:because|since|so that|the reason|due to|in order to|otherwise|as (?:it|they|we|this))\b|因为|由于"
    r"|所以|为了|否则",
    re.IGNORECASE,
)
CONCRETE = late_pattern(r"\d|(?<=[a-z,;] )(?!I\b)[A-Z][\w.+#-]+|`[^`]+`|[A-Za-z]{3,}(?=[\u4e00-\u9fff])")
PASSING = late_pattern(
    r"\b(?:lunch|dinner|breakfast|weather|tonight|right now|for now|this (?:morning|afternoon|evening)|today"
    r"|tomorrow|haha"
    r"|lol|joking|bored|hungry|tired|coffee break)\b|午饭|晚饭|早饭|天气|今晚|暂时|哈哈|现在先",
    re.IGNORECASE,
)
HANGING = late_pattern(r"^(?:it|this|that|these|those|they|he|she)\b|^(?:它|这|那)", re.IGNORECASE)
ASKING = late_pattern(
    r"[?？]\W*$|^(?:can|could|would|will|do|does|did|is|are|what|which|who|where|when|why|how|should"
    r"|please (?!always|never)"
    r"|continue|go on|proceed|investigate|fix|run|look|check|read|implement|refactor|find|list|translate|rewrite"
    r"|summari[sz]e"
    r"|help|tell|show|write|give|explain|thanks|thank you|hi|hello)\b|^(?:请(?!总是|永远|不要再)|帮|能不能"
    r"|怎么|为什么|谢谢|你好)",
    re.IGNORECASE,
)
