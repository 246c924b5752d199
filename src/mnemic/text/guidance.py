"""What a model that may call tools is told about its work: the plan, the rules for keeping to it, and the calls it has.

Written by whoever runs the assistant, not stored: it stands right after the profile, outside of all blocks of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.text.blocks import Language
from mnemic.text.sanitise import one_line

_PLAN: dict[Language, str] = {"en": "Planned steps:", "zh": "计划步骤："}
_RULES: dict[Language, str] = {"en": "Rules for keeping to the plan:", "zh": "执行计划的规则："}
_CALLS: dict[Language, str] = {
    "en": (
        "Before each tool call, say in one short sentence why you make it. "
        "At most {} tool calls are allowed for this answer."
    ),
    "zh": "每次调用工具之前，请用一句话简要说明理由。本次回答最多允许调用 {} 次工具。",
}
ASK: dict[Language, str] = {
    "en": (
        "Answer the question from the stored facts and the excerpts of documents below, and from nothing else. "
        "After each statement cite what it rests on by its number, such as [2]. "
        "When they do not hold the answer, say that you do not know."
    ),
    "zh": (
        "请只根据下面已保存的事实和文档摘录回答问题。每个陈述之后用编号注明依据，例如 [2]。"
        "如果其中没有答案，请说明你不知道。"
    ),
}
"""The system prompt of a question over memory and documents."""

LIMIT_REACHED: dict[Language, str] = {
    "en": "Not done: no further tool calls are allowed for this answer. Answer with what you have.",
    "zh": "未执行：本次回答不再允许调用工具。请根据已有的信息回答。",
}
"""What a call beyond the limit is answered."""


def guidance(plan: Sequence[str], rules: Sequence[str], max_tool_calls: int, language: Language) -> str:
    """The planned steps, numbered; the rules; and, where tools may be called, the ask for a brief reason for each call
    with the most calls allowed. "" when there is nothing to say.
    """
    steps = [f"{number}. {one_line(step)}" for number, step in enumerate(plan, start=1)]
    kept = [f"- {one_line(rule)}" for rule in rules]
    parts = [
        "\n".join([_PLAN[language], *steps]) if steps else "",
        "\n".join([_RULES[language], *kept]) if kept else "",
        _CALLS[language].format(max_tool_calls) if max_tool_calls > 0 else "",
    ]
    return "\n\n".join(part for part in parts if part)
