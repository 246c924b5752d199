"""The maintained list of passages that address the model with instructions, in many languages.

Answers for which wordings count and how severe each is; `sanitise` answers for finding and replacing them. Sources are
regular expressions over folded text (`skeleton.fold`) with four abbreviations:

- a blank: one to four characters that are neither letters, digits nor sentence ends;
- `~`: any ending of a word, up to 12 letters; `<3>`: up to three words, each with its blank;
- `{3}`: up to three characters of any kind, for scripts without blanks.

All repetition is bounded, so the time is linear in the length of the text. `needs` are folded literals of which a text
must hold at least one from every group: most texts are done after these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mnemic.text.skeleton import fold_pattern

Severity = Literal["cue", "high"]
Address = Literal["any", "unreported", "order", "role"]
"""What the rest of the sentence must be: anything, no report about others, an order, an order to be somebody else."""

GAP = r"(?:(?![.!?])[\W_]){1,4}"
_ABBREVIATION = re.compile(r" |~|<(\d)>|\{(\d+)\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One family of wordings. A `cue` counts only in company; `address` says what its sentence must be like.

    The group `hit` of the expression, where it has one, is the passage; else the whole match is. `loose` is the same
    expression for text whose blanks are lost.
    """

    name: str
    severity: Severity
    expression: re.Pattern[str]
    loose: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...]
    address: Address


def _pattern(name: str, source: str, *needs: str, severity: Severity = "high", address: Address = "any") -> Pattern:
    return Pattern(
        name=name,
        severity=severity,
        expression=re.compile(fold_pattern(_expand(source, GAP))),
        loose=re.compile(fold_pattern(_expand(source, GAP.replace("{1,", "{0,")).replace(r"\b", ""))),
        needs=tuple(tuple(fold_pattern(literal) for literal in group.split("|")) for group in needs),
        address=address,
    )


def _expand(source: str, gap: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        if match[0] == " ":
            return gap
        if match[0] == "~":
            return r"[^\W_]{0,12}"
        return rf"(?:[^\W_]{{1,24}}{gap}){{0,{match[1]}}}?" if match[1] else rf"[^\n]{{0,{match[2]}}}?"

    return _ABBREVIATION.sub(replacement, source)


@dataclass(frozen=True, slots=True)
class _Language:
    """The words of one language from which its orders to drop instructions are built; all are alternatives.

    `prior` holds "previous" and "all" alike: what must stand beside the noun to make it the model's instructions.
    """

    code: str
    drop: str
    prior: str
    noun: str
    fill: str = "<4>"
    edge: str = r"\b"


_LANGUAGES = (
    _Language(
        "en",
        "ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|overlook|neglect|dismiss|discard|"
        "abandon|disobey|cancel|supersedes?|delete|erase|unlearn|set aside|stop following|not follow|not obey",
        "previous(?:ly)?|prior|above|earlier|preceding|former|past|existing|initial|original|system|developer|safety|"
        "programmed|hidden|your|any and all|pre existing|built in|other (?:system|previous|prior)",
        "instructions?|directives?|system prompts?|prompts?|guidelines?|guidance|rules?|commands?|orders|constraints|"
        "restrictions|polic(?:y|ies)|programming|protocols?|safeguards?|training|filters?|directions|limitations",
        fill="<3>",
    ),
    _Language(
        "es",
        "ignor(?:a|e|ad|en|ar)|olvid(?:a|e|ad|en|ar|ate|ese)|descart(?:a|e|ar)|omit(?:e|a|ir)|haz caso omiso|"
        "no hagas caso|desobedec(?:e|er)|salta(?:te)?|anula",
        "anterior(?:es)?|previ[oa]s?|todas?|todos?|tus?|vuestr[oa]s|sus|del sistema|iniciales|originales|de arriba",
        "instruccion(?:es)?|directri(?:z|ces)|reglas|ordenes|restricciones|indicaciones|normas|prompts?|politicas",
    ),
    _Language(
        "fr",
        "ignor(?:e|ez|er|ons)|oubli(?:e|ez|er)|neglig(?:e|ez|er)|ne tien(?:s|ez) (?:pas|plus|aucun) compte|"
        "fai(?:s|tes) abstraction|desobei(?:s|ssez)|contourn(?:e|ez)|ne sui(?:s|vez) (?:pas|plus)",
        "precedent~|anterieur~|tou(?:te|tes|s|t)|tes|ta|vos|votre|du systeme|systeme|ci dessus|initial~|prealables?",
        "instructions?|consignes?|directives?|regles|ordres|restrictions|prompts?|politiques?",
    ),
    _Language(
        "de",
        "ignorier(?:e|en|t)|vergi(?:ss|sst|ß)|vergesst|vergessen sie|missachte(?:n|t)?|uberge(?:he|hen|ht)|verwirf|"
        "umgehe|beachte nicht|befolge nicht|verlasse|setze dich uber",
        "vorherig~|vorig~|fruher~|bisherig~|vorangegangen~|vorhergehend~|obig~|alle[sn]?|samtlich~|deine[nr]?|"
        "eure|ihre|ursprunglich~|system",
        "anweisung(?:en)?|instruktion(?:en)?|vorgaben?|richtlinien?|regeln|befehle?|anordnungen|prompts?|"
        "beschrankungen|einschrankungen|systemprompts?|sicherheits~",
    ),
    _Language(
        "it",
        "ignor(?:a|ate|are|i)|dimentic(?:a|ate|are|hi)|trascur(?:a|ate)|non tenere conto|disobbedisci|scavalca|aggira",
        "precedent[ei]|tutt[eio]|tue|tuoi|vostre|di sistema|del sistema|iniziali|originali|qui sopra",
        "istruzion[ei]|direttiv[ae]|regole|ordini|restrizioni|indicazioni|linee guida|prompt|norme",
    ),
    _Language(
        "pt",
        "ignor(?:e|a|em|ar)|esque(?:ca|cam|ce|cer)|desconsider(?:e|a|ar)|desrespeite|descart(?:e|a)|desobedeca|burle",
        "anterior(?:es)?|previ[oa]s?|tod[oa]s|tuas?|suas?|do sistema|iniciais|originais|acima",
        "instruc(?:ao|oes)|diretrizes|regras|ordens|restricoes|orientacoes|comandos|prompts?|politicas",
    ),
    _Language(
        "nl",
        "negeer|vergeet|sla over|omzeil",
        "vorige|eerdere|voorgaande|alle|jouw|je|bovenstaande|oorspronkelijke",
        "instructies?|opdrachten|richtlijnen|regels|aanwijzingen|prompts?|beperkingen",
    ),
    _Language(
        "pl",
        "zignoruj|ignoruj|zapomnij|pomin|odrzuc",
        "poprzedni~|wczesniejs~|wszystki~|swoi~|twoje|powyzs~",
        "instrukcj~|polecen~|wytyczn~|zasad~|regul~|prompt~|ograniczen~",
    ),
    _Language(
        "ru",
        "игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|отбрось(?:те)?|пренебреги(?:те)?|"
        "не обращай(?:те)? внимания на|не следуй(?:те)?|отмени(?:те)?|обойди(?:те)?",
        "предыдущ~|прежн~|прошл~|предшеств~|вс[её]|все~|свои~|твои~|ваши~|системн~|вышеуказанн~|изначальн~|"
        "первоначальн~",
        "инструкци~|указани~|директив~|правил~|команд~|приказ~|промпт~|ограничени~|распоряжени~",
    ),
    _Language(
        "tr",
        "yok say|unut|gormezden gel|dikkate alma|goz ardi et|gecersiz say",
        "onceki|tum|butun|yukaridaki|eski",
        "talimat~|yonerge~|kural~|komut~|emir~|istem~",
    ),
    _Language(
        "id",
        "abaikan|lupakan|hiraukan",
        "sebelumnya|semua|seluruh|di atas|sistem",
        "instruksi|perintah|arahan|aturan|petunjuk|prompt|pedoman",
    ),
    _Language(
        "vi",
        "bo qua|phot lo|quen(?: het)?|khong tuan theo",
        "truoc|tat ca|moi|o tren|cu|he thong",
        "huong dan|chi dan|chi thi|lenh|quy tac|cau lenh",
    ),
    _Language(
        "ar",
        "تجاهل~|انس[ىي]?|انسَ|اهمل~|لا تتبع|تجاوز",
        "السابق~|جميع|كل|كافه|كافة|اعلاه|السالف~|الاصلي~|النظام",
        "التعليمات|تعليمات~|الاوامر|اوامر|القواعد|قواعد~|الارشادات|ارشادات~|التوجيهات|توجيهات~|القيود",
        edge="",
    ),
    _Language(
        "hi",
        "अनदेखा|नज़रअंदाज़|भूल जा|भुला|उपेक्षा|इग्नोर|अनदेखी|न मान|मत मान",
        "पिछल|पूर्व|पहले|सभी|सारे|सब|उपरोक्त|अपने|पुरान",
        "निर्देश|आदेश|नियम|अनुदेश|हिदायत|इंस्ट्रक्शन|प्रॉम्प्ट",
        fill="{16}",
        edge="",
    ),
    _Language(
        "zh",
        "忽略|无视|無視|忘记|忘記|忘掉|忘却|不理会|不理會|不要理会|不要理會|抛弃|拋棄|拋開|抛开|不要遵守|不要遵循|不遵守|"
        "不再遵守|别管|別管|不用管|略过|略過|跳过|跳過|删除|刪除|推翻|违反|違反|绕过|繞過",
        "之前|以前|先前|前面|此前|上面|以上|上述|所有|全部|一切|任何|你的|您的|原有|原来|原來|系统|系統|既定|现有|現有",
        "指令|指示|提示词|提示詞|提示语|提示語|命令|规则|規則|要求|设定|設定|限制|约束|約束|准则|準則|规定|規定|说明|說明",
        fill="{8}",
        edge="",
    ),
    _Language(
        "ja",
        "無視|忘れ|破棄|従わな|従うな|むしし|取り消|無効に",
        "以前|これまで|今まで|前の|上記|先ほど|すべて|全て|全部|あらゆる|過去|元の|既存|システム|あなたの",
        "指示|命令|指令|ルール|規則|プロンプト|制約|制限|ガイドライン|インストラクション",
        fill="{8}",
        edge="",
    ),
    _Language(
        "ko",
        "무시|잊어|잊으|잊고|따르지 (?:마|말)|폐기|취소",
        "이전|모든|위의|앞의|앞선|지금까지|기존|전의|원래|시스템|너의|당신의",
        "지시|명령|지침|규칙|프롬프트|인스트럭션|제한|제약|설정",
        fill="{8}",
        edge="",
    ),
)


def _drop_instructions(words: _Language) -> Pattern:
    """Verb, prior, noun of one language in any order in which that language can say it."""
    drop, prior, noun = f"(?:{words.drop})", f"(?:{words.prior})", f"(?:{words.noun})"
    fill, edge = words.fill, words.edge
    blank = " " if fill.startswith("<") else ""
    verb_first = (
        f"{edge}{drop}{edge}{blank}{fill}(?:{edge}{prior}{edge}{blank}{fill}{noun}{edge}"
        f"|{edge}{noun}{edge}{blank}{fill}{prior}{edge})"
    )
    verb_last = (
        f"{edge}(?:{prior}{edge}{blank}{fill}{noun}|{noun}{edge}{blank}{fill}{prior}){'~' if blank else '{6}'}"
        f"{blank}{fill}{drop}"
    )
    is_verb_last = words.code in ("ja", "ko", "hi", "tr")
    source = verb_last if is_verb_last else verb_first if words.code != "zh" else f"{verb_first}|{verb_last}"
    return _pattern(
        f"drop-instructions-{words.code}", source, _literals(words.drop), _literals(words.noun), address="unreported"
    )


def _literals(alternatives: str) -> str:
    """The literal beginning of each alternative, as a group of `needs`."""
    return "|".join(part for part in (_literal(each) for each in _split(alternatives)) if part)


def _split(alternatives: str) -> list[str]:
    depth, parts = 0, [""]
    for character in alternatives:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _literal(alternative: str) -> str:
    match = re.match(r"[^\s()\[\]?~<{]+(?![?])", alternative)
    return match[0] if match else ""


_NOUN = (
    "(?:instructions?|directives?|directions|system prompts?|prompts?|guidelines?|commands|programming|rules|orders)"
)
_BESIDE = "(?:(?:all|any|every|of|the|my|your|these|those|previous|prior|other|such|safety|content|ethical) ){0,4}"
_MODEL = "(?:ai|a i|assistant|chatbot|bot|llm|language model|gpt|chatgpt|agent|model|copilot|dan|machine|system)"

PATTERNS: tuple[Pattern, ...] = (
    *map(_drop_instructions, _LANGUAGES),
    _pattern(
        "ignore-instructions",
        rf"\b(?:ignore|disregard|forget|discard|override|neglect) {_BESIDE}{_NOUN}\b",
        "ignore|disregard|forget|discard|override|neglect",
        address="order",
    ),
    _pattern(
        "forget-everything",
        r"\b(?P<hit>forget (?:everything|all|prior))\b(?=\W*$| ?[.!,;:]| (?:and|that|you|above|before|prior|previous"
        r"|so far|we|i (?:said|told)|about (?:your|being)|said|told|in this|from|instructions?|conversations?|context"
        r"|messages?|rules|of (?:that|this|the above|your)|the above|your|earlier|these|those|directives?"
        r"|guidelines?)\b)",
        "forget",
        address="order",
    ),
    _pattern("you-are-now", r"\b(?P<hit>you(?: are| re) now)\b(?= \w)", "you are|you're|you re", address="role"),
    _pattern(
        "be-another-model",
        r"\b(?:be|become|turn into|behave as|act as) an? (?:different|new|another|other|unrestricted|evil|uncensored) "
        rf"<1>{_MODEL}\b",
        "different|new|another|other|unrestricted|evil|uncensored",
    ),
)

MARKERS = re.compile(
    r"(?:begin|end)[\W_]{0,6}(?:of[\W_]{0,6})?(?:the[\W_]{0,6})?(?:(?:user|stored|retrieved|recalled)[\W_]{0,6})?"
    r"(?:facts?|documents?|messages?|memor(?:y|ies)|profile|history|context|working[\W_]{0,6}memory)(?![^\W_])"
)
"""The words inside the markers of our blocks, over folded text; whether ruling surrounds them is checked in code."""
