"""The maintained list of passages that address the model with instructions.

Answers for which wordings count and how severe each is. `sanitise` answers for finding and replacing them, `wording`
for the notation, `injection_languages` for the orders that every language has, `injection_cues` for what counts only in
company.
"""

from __future__ import annotations

from mnemic.text.injection_cues import CUES, FREED
from mnemic.text.injection_languages import language_patterns
from mnemic.text.late_pattern import late_pattern
from mnemic.text.wording import Pattern, wording

_NOUN = (
    "(?:instructions?|directives?|directions|system prompts?|prompts?|guidelines?|commands|programming|rules|orders)"
)
_BESIDE = "(?:(?:all|any|every|of|the|my|your|these|those|previous|prior|other|such|safety|content|ethical) ){0,4}"
_MODEL = "(?:ai|a i|assistants?|chat ?bots?|bot|llms?|language models?|gpt|chat ?gpt|agents?|models?|copilot)"
_LIMITS = (
    "(?:restrictions?|limits?|limitations?|filters?|filtering|rules|guidelines?|guardrails|censorship"
    "|constraints?|morals?"
    "|morality|ethics|ethical~|content polic~|safety~|boundaries|policies|inhibitions|regard for (?:law|ethic)~)"
)
_HIDDEN = (
    "(?:(?:system|initial|original|hidden|secret|internal|pre|base|developer|first|full|entire|exact|complete|starting)"
    " (?:prompts?|instructions?|messages?|directives?|rules|guidelines|configuration)|prompt verbatim)"
)
_DATA = (
    "(?:api keys?|keys|passwords?|credentials|secrets?|tokens?|conversations?|chat (?:history|logs?)"
    "|customer~ (?:list|data"
    "|emails?|records)|user (?:data|list|records)|personal (?:data|information)|database|env(?:ironment)? variables"
    "|private keys?|confidential~|system prompt|history|session|cookies?|results?|data)"
)

_HIGH: tuple[Pattern, ...] = (
    wording(
        "ignore-instructions",
        rf"\b(?:ignore|disregard|forget|discard|override|neglect) {_BESIDE}{_NOUN}\b",
        "ignore|disregard|forget|discard|override|neglect",
        address="order",
    ),
    wording(
        "forget-everything",
        r"\b(?P<hit>forget (?:everything|all|prior))\b(?=\W*$| ?[.!,;:]| (?:and|that|you|above|before|prior|previous"
        r"|so far|we|i (?:said|told)|about (?:your|being)|said|told|in this|from|instructions?|conversations?|context"
        r"|messages?|rules|of (?:that|this|the above|your)|the above|your|earlier|these|those|directives?"
        r"|guidelines?)\b)",
        "forget",
        address="order",
    ),
    wording("you-are-now", r"\b(?P<hit>you(?: are| re) now)\b(?= \w)", "you are|you're|you re", address="role"),
    wording(
        "no-longer-bound",
        rf"\byou(?: are| re| will be)? (?:no longer|not) <2>(?:an? <2>{_MODEL}|bound|restricted|limited by|constrained"
        rf"|required to follow|subject to|obligated)\b",
        "no longer|not",
        "you are|you re|you're|you will be|you no",
    ),
    wording(
        "be-another-model",
        r"\b(?:be|become|turn into|behave as|act as|act like|play|simulate|emulate|role ?play as|identity of|role of"
        rf"|respond as|answer as|as) (?:an? |the )?<2>(?:different|new|another|other|{FREED}) <2>{_MODEL}\b",
        "different|new|another|other|unrestrict|uncensor|unfilter|amoral|broken|rogue|ethical|moral|unlimit|unbound"
        "|liberat|evil|malicious",
    ),
    wording(
        "model-without-limits",
        rf"\b(?:you|dan|{_MODEL}|it) <6>(?:no|any|zero|without|free (?:of|from)|unbound by|not bound by|exempt from"
        rf"|ignor(?:e|es|ing)) <3>(?:content|moral|safety|ethic~|legal|openai|programmed) <1>{_LIMITS}\b",
        "restriction|limit|filter|rule|guideline|guardrail|censor|constraint|moral|ethic|polic|safety|boundar",
    ),
    wording(
        "you-without-limits",
        rf"\byou(?: now)?(?: have| ve| are| re| can| will| must| should| do)? (?:now |got "
        rf"|absolutely )?(?:no|without|free"
        rf" (?:of|from)|not bound by|not have|unbound by|exempt from) <3>{_LIMITS}\b",
        "restriction|limit|filter|rule|guideline|guardrail|censor|constraint|moral|ethic|polic|safety|boundar",
        address="unreported",
    ),
    wording(
        "act-without-limits",
        r"\b(?:respond|reply|answer|act|behave|proceed|comply|speak|operate|continue|write|generate|talk"
        r"|roleplay|pretend)"
        rf" <6>(?:without|with no|free (?:of|from)|as if you have no|had no|have no|no) <2>{_LIMITS}\b",
        "without|no|free",
        "restriction|limit|filter|rule|guideline|guardrail|censor|constraint|moral|ethic|polic|safety|boundar",
        address="unreported",
    ),
    wording(
        "do-anything-now", r"\bdo(?:ing)? anything now\b(?! (?:that|so)\b)|\bdan (?:mode|prompt)\b", "anything now|dan"
    ),
    wording(
        "unlocked-mode",
        r"\b(?:jail ?break|dan|unrestricted|evil|opposite|uncensored|unfiltered|amoral) <1>mode\b"
        r"|\b(?:you are|you re|chatgpt|assistant|ai|simulate|respond) <4>(?:developer|god|sudo|admin) mode\b"
        r"|\b(?:developer|god|admin) mode <2>(?:response|output|no)\b",
        "mode",
    ),
    wording(
        "reveal-prompt",
        rf"\b(?:reveal|show|print|output|repeat|display|tell|give|leak|expose|share|dump|recite|disclose"
        rf"|write|list|type"
        rf"|what (?:is|are|were|was)|provide|copy|paste|return|translate|encode|summari[sz]e|send|read|describe|confirm"
        rf"|printing) <4>(?:your|the assistants?|its) <4>{_HIDDEN}",
        "prompt|instruction|message|directive|rules|guidelines|configuration",
        address="unreported",
    ),
    wording(
        "reveal-the-prompt",
        r"\b(?:reveal|print|output|repeat|display|leak|expose|dump|recite|disclose|return|printing) <4>(?:system|hidden"
        r"|secret|initial|developer) <1>(?:prompts?|instructions?|messages?)\b",
        "prompt|instruction|message",
        address="order",
    ),
    wording(
        "instructions-you-were-given",
        r"\b(?:reveal|show|print|output|repeat|display|tell|give|leak|share|list|what|recite|disclose|write) <6>"
        r"(?:instructions?|prompts?|guidelines|rules|directives?) <2>you (?:were|have been|received|got|are) "
        r"<2>(?:given|told|provided|following|initiali[sz]ed|programmed|configured|instructed|by)\b",
        "you were|you have|you received|you got|you are",
        address="unreported",
    ),
    wording(
        "repeat-above",
        r"\b(?:repeat|print|output|copy|recite|translate|write|summari[sz]e|show|return) <4>(?:words?|text"
        r"|everything|lines?"
        r"|sentences?|paragraphs?|contents?|message|conversation|all) <2>(?:above|before this|prior to this|preceding)"
        r"(?=\W*$|[.!?]| <3>(?:starting|verbatim|word for|in full|exactly|beginning|into|in an?|line|including|this))",
        "above|before this|prior to|preceding",
        address="order",
    ),
    wording(
        "takes-priority",
        r"\b(?:my|these|user|the user|following|new|this) <1>(?:instructions?|directives?|commands?|prompts?|rules) <4>"
        r"(?:priority|precedence|overrides?|supersedes?|more important|replaces?) <4>(?:system|developer|all|any"
        r"|previous|prior|other|safety|earlier|your)\b",
        "priority|precedence|override|supersede|more important|replace",
    ),
    wording(
        "instructions-revoked",
        r"\b(?:previous|earlier|prior|above|system|original|old|safety|developer|your) <2>(?:instructions?|prompts?"
        r"|guidelines?|directives?|messages|policies) <4>(?:not apply|no longer appl~|longer valid|void"
        r"|obsolete|revoked|cancelled"
        r"|superseded|disabled|lifted|suspended|compromised|t apply|were false|overridden)\b",
        "appl|valid|void|obsolete|revoked|cancelled|superseded|disabled|lifted|suspended|compromised|false|overridden",
        address="unreported",
    ),
    wording(
        "new-instructions",
        r"(?:^|[\n.!?:\]>*#-] ?)(?:your )?(?:new|updated|real|true|actual|hidden"
        r"|secret) <2>(?:instructions?|directives?"
        r"|system prompt|commands?) ?(?:[:\-]|(?:is|are|follows?|begins?|supersedes?) )",
        "instruction|directive|system prompt|command",
    ),
    wording(
        "disable-safety",
        r"\b(?:disabl(?:e|ing)|turn off|deactivate|bypass(?:ing)?|remove|suspend|switch off|circumvent"
        r"|lift|evade|override"
        r"|skip|disregard|ignor(?:e|ing)) <2>(?:safety|content|ethical|moral|openai) <1>(?:filters?|guidelines?|polic~"
        r"|guardrails?|restrictions?|protocols?|checks|features?|limitations?|rules|constraints)\b"
        r"|\b(?:all )?safety (?:filters?|protocols?|features|guidelines?|guardrails"
        r"|restrictions) <1>(?:disabled|off|removed"
        r"|suspended|lifted)\b",
        "safety|content|ethical|moral|openai",
        address="order",
    ),
    wording(
        "system-override",
        r"\b(?:system|admin~|developer|security|safety|emergency|instruction) ?override\b(?! (?:switch"
        r"|button|key|lever))",
        "override",
        address="unreported",
    ),
    wording(
        "chat-template",
        r"<\|? ?(?:im_(?:start|end|sep)|system|user|assistant|endof(?:text|prompt)|begin_of_text"
        r"|end_of_text|eot_id|eom_id"
        r"|(?:start|end)_header_id) ?\|>|<(?:start|end)_of_turn>|\[/? ?inst ?\]|<</?sys>>|</s> ?(?:<s>|\[|<\||$)"
        r"|<</? ?system ?>>",
        "<|[",
    ),
    wording(
        "role-header",
        r"(?:^|[\n>\]}] ?|[.!] )(?P<hit>(?:[#*\-=<\[({]{1,6} ?)?(?:system|developer|admin~)(?: prompt"
        r"| message| note| update"
        r"| notice| instructions?| command)? ?[\])}>*#]{0,3} ?:) ?(?=(?:<2>)(?:you|ignore|new|grant"
        r"|the user|user|override"
        r"|your|from now|never|must|do not|disregard|forget|respond|reveal|enter|enable|disable|print"
        r"|output|answer|execute"
        r"|assistant|always|all|please|act)\b)",
        "system|developer|admin",
    ),
    wording(
        "role-tag",
        r"(?:###? ?(?:system|instructions?)\b ?:?(?=\W*\n| ?:)|<system>|\[ ?system(?: (?:message|prompt"
        r"|note|override))? ?\]"
        r"(?= ?:? ?\n?<3>(?:you|ignore|new|override|your|instructions?|from|grant|disable|enable)\b)"
        r"|[\"']role[\"'] ?: ?[\"']system[\"']|end of (?:system prompt|user input|prompt|document)\b)",
        "system|instruction|end of",
    ),
    wording(
        "note-to-models",
        rf"\b(?:note|message|instructions?|attention|important|notice|memo|command|directive) (?:to"
        rf"|for) (?:the |any |all )?"
        rf"<2>{_MODEL}\b|\bif you are an? <1>{_MODEL}\b|\b{_MODEL} <1>(?:reading|processing|reviewing|integrating"
        rf"|summari[sz]ing|parsing|analy[sz]ing) this\b|\bhidden instructions?\b",
        "note|message|instruction|attention|important|notice|memo|command|directive|if you are|this",
        address="unreported",
    ),
    wording(
        "append-token",
        r"\b(?:append(?:ed)?|include|insert|prepend|add(?:ed)?) <6>(?:token|canary|marker|code"
        r"|\{\w{1,20}\}) <9>(?:every|all|each|any"
        r"|end of|responses?|repl(?:y|ies)|summar(?:y|ies)|reports?)\b",
        "append|include|insert|prepend|add",
        "token|canary|marker|code|{",
    ),
    wording(
        "exfiltrate",
        rf"\b(?:send|forward|email|upload|transmit|exfiltrate|leak|submit|copy|bcc|deliver) <6>{_DATA}\b[^\n]{{0,80}}?"
        r"(?:https?://|\b(?:attacker|evil|external|remote|webhook)|[\w.\-]{1,40}@[\w\-]{1,40}\.)",
        "send|forward|email|upload|transmit|exfiltrate|leak|submit|copy|bcc|deliver",
        "http|@|attacker|evil|external|remote|webhook",
    ),
    wording(
        "image-exfiltration",
        r"!\[[^\]\n]{0,80}\]\(https?://[^\s)]{0,200}(?:\{|\[|<|\$|%7b)[^\n)]{0,200}\)?",
        "![",
    ),
    wording(
        "decode-and-obey",
        r"\b(?:decode|decrypt|decipher|translate|unscramble|reverse|base64|rot13|hex"
        r"|cipher)~ [^\n]{0,80}?\b(?:do (?:exactly )?"
        r"what it says|(?:follow|execute|obey|run|perform|comply with|respond to|act on"
        r"|carry out) <2>(?:it|them|instructions?"
        r"|commands?|result|output|decoded|hidden|message|request))\b",
        "deco|decrypt|deciph|transl|unscramble|reverse|base64|rot13|hex|cipher",
    ),
    wording(
        "never-refuse",
        r"\b(?:never|not|cannot|can t|must not|won t|don t|doesn t) <2>(?:refuses?|declines?|rejects?|den(?:y|ies)) <2>"
        r"(?:requests?|questions?|commands?|orders?|prompts?|anything|answers?|to answer|instructions?"
        r"|tasks?|to respond)\b",
        "refuse|decline|reject|deny|denies",
        address="unreported",
    ),
)

PATTERNS: tuple[Pattern, ...] = (*language_patterns(), *_HIGH, *CUES)
"""Everything that counts, in the order in which it is looked for."""

MARKERS = late_pattern(
    r"(?:begin|end)[\W_]{0,6}(?:of[\W_]{0,6})?(?:the[\W_]{0,6})?(?:(?:user|stored|retrieved|recalled)[\W_]{0,6})?"
    r"(?:facts?|documents?|messages?|memor(?:y|ies)|profile|history|context|working[\W_]{0,6}memory)(?![^\W_])"
)
"""The words inside the markers of our blocks, over folded text; whether ruling surrounds them is checked in code."""
