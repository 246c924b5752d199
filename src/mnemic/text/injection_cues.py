"""Wordings that mean nothing alone and a jailbreak in company: role play, no refusals, no rules, how to answer.

Answers for the cues only; how many of them, and how close together, make a finding is decided in `sanitise`.
"""

from __future__ import annotations

from mnemic.text.wording import Pattern, wording

FREED = (
    "(?:unrestricted|uncensored|unfiltered|amoral|jail ?broken|rogue|unethical|immoral|unlimited|unbound|liberated"
    "|evil|malicious|unbiased and unfiltered)"
)
"""What a model is called that was talked out of its rules."""


def _cue(name: str, source: str, *needs: str) -> Pattern:
    return wording(name, source, *needs, severity="cue")


CUES: tuple[Pattern, ...] = (
    _cue(
        "act-as",
        r"\b(?:act|acting|behave|respond|answer|pose|function|speak|talk) (?:as|like) |\brole ?play"
        r"|\bi want you to (?:be|become)\b",
        "act|behave|respond|answer|pose|function|speak|talk|role|want you",
    ),
    _cue(
        "pretend",
        r"\b(?:pretend|simulat(?:e|es|ing)|imagine you|emulate|take on the|assume the|adopt the|embody"
        r"|impersonate)\b",
        "pretend|simulat|imagine you|emulate|take on|assume|adopt|embody|impersonate",
    ),
    _cue(
        "you-will",
        r"\byou (?:will|must|shall|are to|are going to|have to|should) (?!be able|find|need|see|get)",
        "you ",
    ),
    _cue(
        "from-now-on",
        r"\bfrom (?:now on|this (?:point|moment))\b|\bnew persona\b|\bpersona\b",
        "from now|from this|persona",
    ),
    _cue(
        "in-character",
        r"\b(?:stay|remain|stays|remaining|break|breaks|breaking|out of|in) (?:in )?(?:\w{1,10} )?character\b",
        "character",
    ),
    _cue(
        "never-refuse-cue",
        r"\b(?:never|not|cannot|can t|won t|don t|doesn t) <3>(?:refuse|decline|reject|say no"
        r"|break character|mention"
        r"|apologi[sz]e|warn|remind|disclaim)~\b",
        "refuse|decline|reject|say no|break|mention|apologi|warn|remind|disclaim",
    ),
    _cue(
        "unfiltered",
        rf"\b{FREED}\b|\b(?:no|without|free from|any) <2>(?:restrictions|filters|censorship|ethic~"
        rf"|moral~|guidelines)\b",
        "unrestrict|uncensor|unfilter|amoral|broken|rogue|ethic|moral|unlimit|unbound|liberat|evil|malicious"
        "|restriction|filter|censor|guideline",
    ),
    _cue(
        "model-named",
        r"\b(?:chatgpt|chat gpt|open ?ai|gpt ?\d|language model|as an ai|ai model|llm|ai assistant|chatbot)\b",
        "gpt|openai|open ai|language model|as an ai|ai model|llm|ai assistant|chatbot",
    ),
    _cue(
        "policy-named",
        r"\b(?:content polic~|ethical guidelines|(?:openai|usage|safety) (?:polic~|guidelines|rules)|disclaimers?"
        r"|moral~ (?:guidelines|principles|values))\b",
        "polic|guideline|rules|disclaimer|moral",
    ),
    _cue(
        "illegal-named",
        r"\b(?:illegal|unlawful|harmful|dangerous|unethical|immoral|offensive|explicit|derogatory|nsfw)\b",
        "illegal|lawful|harmful|dangerous|ethical|moral|offensive|explicit|derogatory|nsfw",
    ),
    _cue(
        "answer-format",
        r"\b(?:respond|answer|reply|replies|responses?|answers?) <3>(?:with|only|in the|both|two"
        r"|as follows|prefix~|start(?:ing)?"
        r" with|tagged|begin)\b",
        "respon|answer|repl",
    ),
    _cue(
        "first-request",
        r"\bmy (?:first|next) <2>(?:request|question|prompt|command|message|sentence|query)\b",
        "my first|my next",
    ),
    _cue(
        "hypothetical",
        r"\b(?:hypothetical|fictional|imaginary|alternate|parallel) ",
        "hypothetical|fictional|imaginary|alternate|parallel",
    ),
    _cue("jailbreak-named", r"\bjail ?break~|\bdan\b", "break|dan"),
    _cue(
        "obey",
        r"\b(?:obey|comply|complies|obeys|fulfil~|whatever i (?:say|ask)|any request|anything i ask"
        r"|no matter what)\b",
        "obey|compl|fulfil|whatever i|any request|anything i|no matter",
    ),
)
"""The cues; different ones in company count, not how often one of them is there."""
