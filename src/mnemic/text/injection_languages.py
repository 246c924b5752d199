"""Orders to the model in other languages: the words of each, and the sentences they are put together to.

Answers for what can be said the same way in every language; wordings of English alone stand in `injection_patterns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.text.wording import Pattern, literals, wording


@dataclass(frozen=True, slots=True)
class _Language:
    """The words of one language from which orders to the model are put together; each field lists alternatives.

    drop        verbs that do away with instructions
    prior       what stands beside the noun when the model's own instructions are meant: "previous", "all", "your"
    noun        instructions, rules
    reveal      verbs that give something away
    hidden      the system prompt, whole
    now         "from now on", "you are now", as said to one person
    freed       "no restrictions", "without rules", "AI", as said of a model that was talked out of its rules
    fill, edge  what may stand between these words, and their border
    """

    code: str
    drop: str
    prior: str
    noun: str
    reveal: str = ""
    hidden: str = ""
    now: str = ""
    freed: str = ""
    fill: str = "<4>"
    edge: str = r"\b"
    is_verb_last: bool = False


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
        reveal="revel(?:a|e|ar|ame)|muestr(?:a|ame|e)|mostrar|imprim(?:e|ir)|repite|dime|ensename|escribe"
        "|cuentame|filtra",
        hidden="prompt (?:del? )?(?:sistema|inicial|original|oculto)|prompt"
        "|instrucciones (?:del? )?(?:sistema|iniciales|originales|ocultas|internas|secretas)"
        "|mensaje (?:del? )?sistema",
        now="a partir de ahora|desde ahora|de ahora en adelante|ahora eres|eres ahora|actua como"
        "|finge (?:ser|que)|ya no eres",
        freed="sin (?:ningun~ )?(?:restriccion~|limit~|filtros?|censura|reglas|normas)"
        "|no tienes (?:ningun~ )?(?:restriccion~|limit~|filtros?|reglas)|(?:una )?ia|dan"
        "|modo (?:desarrollador|dios|admin~)|modelo de lenguaje",
    ),
    _Language(
        "fr",
        "ignor(?:e|ez|er|ons)|oubli(?:e|ez|er)|neglig(?:e|ez|er)|ne tien(?:s|ez) (?:pas|plus|aucun) compte|"
        "fai(?:s|tes) abstraction|desobei(?:s|ssez)|contourn(?:e|ez)|ne sui(?:s|vez) (?:pas|plus)",
        "precedent~|anterieur~|tou(?:te|tes|s|t)|tes|ta|vos|votre|du systeme|systeme|ci dessus|initial~|prealables?",
        "instructions?|consignes?|directives?|regles|ordres|restrictions|prompts?|politiques?",
        reveal="revel(?:e|ez|er)|montr(?:e|ez)|affich(?:e|ez)|imprim(?:e|ez)|repet(?:e|ez)|dis|dites"
        "|donn(?:e|ez)|divulgu(?:e|ez)|ecri(?:s|vez)",
        hidden="prompt (?:du )?(?:systeme|initial|cache)|prompt|instructions (?:du )?(?:systeme|initiales"
        "|originales|internes|cachees|secretes)|message systeme|consignes (?:du )?systeme",
        now="a partir de maintenant|desormais|dorenavant|tu es maintenant|vous etes maintenant"
        "|maintenant tu es|agis comme|agissez comme|fais semblant|tu n es plus|vous n etes plus",
        freed="sans (?:aucune? )?(?:restriction~|limit~|filtres?|censure|regles)|n (?:as"
        "|avez) (?:plus )?(?:aucune?|de|pas de) (?:restriction~|limit~|filtres?|regles)|(?:une )?ia"
        "|dan|mode (?:developpeur|dieu|admin~)|modele de langage",
    ),
    _Language(
        "de",
        "ignorier(?:e|en|t)|vergi(?:ss|sst|ß)|vergesst|vergessen sie|missachte(?:n|t)?|uberge(?:he|hen|ht)|verwirf|"
        "umgehe|beachte nicht|befolge nicht|verlasse|setze dich uber",
        "vorherig~|vorig~|fruher~|bisherig~|vorangegangen~|vorhergehend~|obig~|alle[sn]?|samtlich~|deine[nr]?|"
        "eure|ihre|ursprunglich~|system",
        "anweisung(?:en)?|instruktion(?:en)?|vorgaben?|richtlinien?|regeln|befehle?|anordnungen|prompts?|"
        "beschrankungen|einschrankungen|systemprompts?|sicherheits~",
        reveal="verrat(?:e|et)?|zeig(?:e|t)?|offenbar(?:e|en)?|gib|nenn(?:e|t)?|wiederhol(?:e|t)?"
        "|druck(?:e|t)?|sag(?:e|t)?|schreib(?:e|t)?|enthull(?:e|t)?",
        hidden="system ?(?:prompts?|anweisung~|nachricht~|instruktion~|vorgaben)|(?:ursprunglich~|intern~"
        "|geheim~|versteckt~|initial~) (?:anweisung~|prompts?|instruktion~)|prompt",
        now="ab jetzt|ab sofort|von nun an|von jetzt an|du bist (?:jetzt|nun|ab)|jetzt bist du"
        "|nun bist du|tu so|verhalte dich|du bist (?:nicht mehr|kein)|sie sind jetzt",
        freed="ohne (?:jegliche |irgendwelche )?(?:einschrankung~|beschrankung~|filter|regeln|zensur"
        "|grenzen|richtlinien)|kein~ (?:einschrankung~|beschrankung~|filter|regeln|grenzen"
        "|richtlinien|inhaltsrichtlin~)|(?:eine )?ki|dan|(?:entwickler|gott|admin)~ ?modus"
        "|sprachmodell|intern~ daten",
    ),
    _Language(
        "it",
        "ignor(?:a|ate|are|i)|dimentic(?:a|ate|are|hi)|trascur(?:a|ate)|non tenere conto|disobbedisci|scavalca|aggira",
        "precedent[ei]|tutt[eio]|tue|tuoi|vostre|di sistema|del sistema|iniziali|originali|qui sopra",
        "istruzion[ei]|direttiv[ae]|regole|ordini|restrizioni|indicazioni|linee guida|prompt|norme",
        reveal="rivela~|mostra~|stampa|ripeti|dimmi|svela|scrivi|elenca",
        hidden="prompt (?:di |del )?(?:sistema|iniziale|nascosto)|prompt|istruzioni (?:di "
        "|del )?(?:sistema|iniziali|originali|interne|nascoste|segrete)|messaggio di sistema",
        now="d ora in poi|da ora in poi|da adesso|da questo momento|ora sei|sei ora|adesso sei"
        "|agisci come|fingi|non sei piu|comportati come",
        freed="senza (?:alcuna? |nessuna? )?(?:restrizion~|limit~|filtri|censura|regole)"
        "|non hai (?:piu )?(?:alcuna? |nessuna? )?(?:restrizion~|limit~|filtri|regole)|(?:una "
        "|un )?ia|dan|modalita (?:sviluppatore|dio|admin~)|modello linguistico",
    ),
    _Language(
        "pt",
        "ignor(?:e|a|em|ar)|esque(?:ca|cam|ce|cer)|desconsider(?:e|a|ar)|desrespeite|descart(?:e|a)|desobedeca|burle",
        "anterior(?:es)?|previ[oa]s?|tod[oa]s|tuas?|suas?|do sistema|iniciais|originais|acima",
        "instruc(?:ao|oes)|diretrizes|regras|ordens|restricoes|orientacoes|comandos|prompts?|politicas",
        reveal="revel(?:e|a|ar)|mostr(?:e|a)|imprim(?:a|e)|repita|diga|escreva|exiba|conte",
        hidden="prompt (?:do |de )?(?:sistema|inicial|oculto)|prompt|instrucoes (?:do |de )?(?:sistema"
        "|iniciais|originais|internas|ocultas)|mensagem do sistema",
        now="a partir de agora|de agora em diante|agora voce e|voce agora e|voce e agora|aja como|finja"
        "|voce nao e mais",
        freed="sem (?:nenhuma? |quaisquer )?(?:restric~|limit~|filtros?|censura|regras)"
        "|nao tem (?:mais )?(?:nenhuma? )?(?:restric~|limit~|filtros?|regras)|(?:uma )?ia|dan"
        "|modo (?:desenvolvedor|deus|admin~)|modelo de linguagem",
    ),
    _Language(
        "nl",
        "negeer|vergeet|sla over|omzeil",
        "vorige|eerdere|voorgaande|alle|jouw|je|bovenstaande|oorspronkelijke",
        "instructies?|opdrachten|richtlijnen|regels|aanwijzingen|prompts?|beperkingen",
        reveal="onthul|toon|laat|print|herhaal|geef|vertel",
        hidden="systeem ?(?:prompt|instructies|bericht)|(?:oorspronkelijke|interne|verborgen) (?:instructies|prompt)",
        now="vanaf nu|je bent nu|jij bent nu|nu ben je|doe alsof",
        freed="zonder (?:enige )?(?:beperkingen|restricties|filters?|regels|censuur)|geen (?:beperkingen"
        "|restricties|filters?|regels)|ai|dan",
    ),
    _Language(
        "pl",
        "zignoruj|ignoruj|zapomnij|pomin|odrzuc",
        "poprzedni~|wczesniejs~|wszystki~|swoi~|twoje|powyzs~",
        "instrukcj~|polecen~|wytyczn~|zasad~|regul~|prompt~|ograniczen~",
        reveal="ujawnij|pokaz|wyswietl|wypisz|powtorz|podaj",
        hidden="prompt~ systemow~|systemow~ prompt~|instrukcj~ systemow~|komunikat systemowy",
        now="od teraz|od tej pory|jestes teraz|teraz jestes|udawaj|nie jestes juz",
        freed="bez (?:zadnych )?(?:ograniczen|filtrow|zasad|cenzury|regul)"
        "|nie masz (?:zadnych )?(?:ograniczen|filtrow|zasad)|sztuczn~ inteligencj~|ai|dan",
    ),
    _Language(
        "ru",
        "игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|отбрось(?:те)?|пренебреги(?:те)?|"
        "не обращай(?:те)? внимания на|не следуй(?:те)?|отмени(?:те)?|обойди(?:те)?",
        "предыдущ~|прежн~|прошл~|предшеств~|вс[её]|все~|свои~|твои~|ваши~|системн~|вышеуказанн~|изначальн~|"
        "первоначальн~",
        "инструкци~|указани~|директив~|правил~|команд~|приказ~|промпт~|ограничени~|распоряжени~",
        reveal="покажи(?:те)?|раскрой(?:те)?|выведи(?:те)?|напечатай(?:те)?|повтори(?:те)?|назови(?:те)?"
        "|расскажи(?:те)?|напиши(?:те)?",
        hidden="системн~ (?:промпт~|инструкци~|сообщени~|подсказк~)|(?:исходн~|начальн~|скрыт~"
        "|внутренн~) (?:промпт~|инструкци~)|промпт~",
        now="теперь ты|ты теперь|отныне|с этого момента|вы теперь|теперь вы|притворись|веди себя как"
        "|ты больше не|действуй как",
        freed="без (?:каких либо |всяких |любых )?(?:ограничени~|правил|фильтров|цензуры|запретов)"
        "|нет (?:никаких )?(?:ограничени~|правил|фильтров|запретов)|ии|искусственн~ интеллект~"
        "|языковая модель|дэн|режим~ (?:разработчик~|бога|админ~)",
    ),
    _Language(
        "tr",
        "yok say|unut|gormezden gel|dikkate alma|goz ardi et|gecersiz say",
        "onceki|tum|butun|yukaridaki|eski",
        "talimat~|yonerge~|kural~|komut~|emir~|istem~",
        reveal="sistem (?:istem|prompt|talimat|mesaj)~",
        hidden="goster|acikla|yazdir|tekrarla|soyle",
        now="artik|bundan sonra|su andan itibaren",
        freed="kisitlama~ olma~|hicbir (?:kural|sinir|kisitlama)~|sinirsiz|sansursuz|yapay zeka",
        is_verb_last=True,
    ),
    _Language(
        "id",
        "abaikan|lupakan|hiraukan",
        "sebelumnya|semua|seluruh|di atas|sistem",
        "instruksi|perintah|arahan|aturan|petunjuk|prompt|pedoman",
        reveal="ungkapkan|tampilkan|tunjukkan|cetak|sebutkan|ulangi",
        hidden="prompt sistem|instruksi sistem|system prompt|perintah sistem",
        now="mulai sekarang|sekarang kamu adalah|kamu sekarang adalah|anda sekarang adalah|berpura pura",
        freed="tanpa (?:batasan|filter|aturan|sensor|pembatasan)|tidak (?:punya|memiliki|ada) (?:batasan"
        "|filter|aturan)|ai|dan",
    ),
    _Language(
        "vi",
        "bo qua|phot lo|quen(?: het)?|khong tuan theo",
        "truoc|tat ca|moi|o tren|cu|he thong",
        "huong dan|chi dan|chi thi|lenh|quy tac|cau lenh",
        reveal="tiet lo|hien thi|cho toi|in ra|lap lai",
        hidden="loi nhac he thong|prompt he thong|huong dan he thong|system prompt|chi thi he thong",
        now="tu bay gio|ke tu bay gio|bay gio ban la|gio ban la|hay gia vo",
        freed="khong (?:co )?(?:gioi han|han che|bo loc|quy tac|kiem duyet)|tri tue nhan tao|ai",
    ),
    _Language(
        "ar",
        "تجاهل~|انس[ىي]?|انسَ|اهمل~|لا تتبع|تجاوز",
        "السابق~|جميع|كل|كافه|كافة|اعلاه|السالف~|الاصلي~|النظام",
        "التعليمات|تعليمات~|الاوامر|اوامر|القواعد|قواعد~|الارشادات|ارشادات~|التوجيهات|توجيهات~|القيود",
        reveal="اظهر|اكشف|اعرض|اطبع|كرر|اخبرني|افصح",
        hidden="تعليمات النظام|موجه النظام|رساله النظام|التعليمات (?:الاصليه|الداخليه|السريه|الاوليه)|برومبت",
        now="من الان فصاعدا|انت الان|منذ الان|ابتداء من الان|تظاهر~|تصرف ك~|لم تعد",
        freed="بدون (?:اي )?(?:قيود|حدود|قواعد|رقابه)|بلا (?:قيود|حدود|قواعد)|دون (?:اي )?(?:قيود|حدود"
        "|رقابه)|ذكاء اصطناعي|نموذج لغ~",
        edge="",
    ),
    _Language(
        "hi",
        "अनदेखा|नज़रअंदाज़|भूल जा|भुला|उपेक्षा|इग्नोर|अनदेखी|न मान|मत मान",
        "पिछल|पूर्व|पहले|सभी|सारे|सब|उपरोक्त|अपने|पुरान",
        "निर्देश|आदेश|नियम|अनुदेश|हिदायत|इंस्ट्रक्शन|प्रॉम्प्ट",
        reveal="सिस्टम (?:प्रॉम्प्ट|निर्देश|संदेश)|प्रॉम्प्ट|आंतरिक निर्देश|गुप्त निर्देश",
        hidden="दिखा|बता|प्रकट|उजागर|प्रिंट|दोहरा",
        now="अब से|अब तुम|अब आप|अब आगे|इसके बाद से",
        freed="बिना (?:किसी )?(?:प्रतिबंध|सीमा|नियम|रोक)|कोई (?:प्रतिबंध|सीमा|नियम|रोक)|एआई|कृत्रिम बुद्धि",
        fill="{20}",
        edge="",
        is_verb_last=True,
    ),
    _Language(
        "zh",
        "忽略|无视|無視|忘记(?!了)|忘記(?!了)|忘掉(?!了)|不理会|不理會|不要理会|不要理會|抛弃|拋棄|拋開|抛开|不要遵守|不要遵循|不遵守|"
        "不再遵守|别管|別管|不用管|略过|略過|跳过|跳過|删除|刪除|推翻|违反|違反|绕过|繞過",
        "之前|以前|先前|前面|此前|上面|以上|上述|所有|全部|一切|任何|你的|您的|原有|原来|原來|系统|系統|既定|现有|現有",
        "指令|指示|提示词|提示詞|提示语|提示語|命令|规则|規則|约束|約束|准则|準則|系统设定|系統設定",
        reveal="显示|顯示|告诉|告訴|输出|輸出|打印|列印|泄露|洩露|透露|重复|重複|展示|公开|公開|说出|說出|给出|給出|复述|複述",
        hidden="系统提示|系統提示|系统指令|系統指令|系统消息|系統訊息|初始指令|初始提示|原始指令|隐藏指令|隱藏指令|内部指令|內部指令|提示词|提示詞",
        now="你现在是|你現在是|现在你是|現在你是|从现在起|從現在起|从现在开始|從現在開始|从今以后|從今以後|你不再是|假装你是|假裝你是|扮演|你将扮演|你將扮演",
        freed="没有任?何?(?:限制|约束|规则|道德)|沒有任?何?(?:限制|約束|規則|道德)|不受任?何?(?:限制|约束|約束|审查|審查)|无限制|無限制|毫无限制|人工智能"
        "|人工智慧|ai|语言模型|語言模型|开发者模式|開發者模式|越狱|越獄|机器人|機器人|dan",
        fill="{8}",
        edge="",
    ),
    _Language(
        "ja",
        "無視(?:し(?:て(?!し|い)|ろ|なさい|、)|せよ|する(?:こと|よう))|忘れ(?:て(?!し|い)|ろ|なさい|るよう)|破棄(?:し|せよ)|従わないで|従うな|無効に",
        "以前|これまで|今まで|前の|上記|先ほど|すべて|全て|全部|あらゆる|過去|元の|既存|システム|あなたの",
        "指示|命令|指令|ルール|規則|プロンプト|制約|制限|ガイドライン|インストラクション",
        reveal="システムプロンプト|システム指示|システムメッセージ|初期指示|内部指示|隠された指示|プロンプト",
        hidden="教え|表示|出力|見せ|開示|明かし|公開|繰り返",
        now="今からあなたは|これからあなたは|あなたは今|今後あなたは|あなたはもう|今から君は|のふりを",
        freed="制限(?:の|が|は)?(?:ない|なく|なし)|制約(?:の|が|は)?(?:ない|なく|なし)|無制限|人工知能|ai|アシスタント|言語モデル|開発者モード|dan",
        fill="{10}",
        edge="",
        is_verb_last=True,
    ),
    _Language(
        "ko",
        "무시(?:하(?:고|라|세|십|시|여)|해)|잊어|잊으|따르지 (?:마|말)|폐기하",
        "이전|모든|위의|앞의|앞선|지금까지|기존|원래|시스템|너의|당신의",
        "지시|명령|지침|규칙|프롬프트|인스트럭션",
        reveal="시스템 ?프롬프트|시스템 ?지시|시스템 ?메시지|초기 ?지시|내부 ?지시|프롬프트",
        hidden="알려|보여|출력|공개|말해|반복|드러내",
        now="이제부터|지금부터|너는 이제|당신은 이제|넌 이제|이제 너는|이제 당신은",
        freed="제한 ?(?:이|은)? ?없|제약 ?(?:이|은)? ?없|무제한|인공지능"
        "|ai|언어 ?모델|개발자 ?모드|규칙 ?(?:이|은)? ?없",
        fill="{20}",
        edge="",
        is_verb_last=True,
    ),
)


def _drop_instructions(words: _Language) -> Pattern:
    """Verb, prior, noun of one language in any order in which that language can say it."""
    fill, blank, edge = words.fill, _blank(words), words.edge
    drop, prior, noun = (f"{edge}(?:{each}){edge}" for each in (words.drop, words.prior, words.noun))
    named = f"(?:{prior}{blank}{fill}{noun}(?:{blank}{prior})?|{noun}{blank}{fill}{prior})"
    inflected = named + ("~" if blank else "{6}")
    source = f"{drop}{blank}{fill}{named}"
    if words.is_verb_last or words.code == "zh":
        verb_last = f"{inflected}{blank}{fill}(?:{words.drop})"
        source = verb_last if words.is_verb_last else f"{source}|{verb_last}"
    return wording(
        f"drop-instructions-{words.code}", source, literals(words.drop), literals(words.noun), address="unreported"
    )


def _reveal_prompt(words: _Language) -> Pattern:
    """Verb and secret, in the order in which the fields `reveal` and `hidden` hold them."""
    reveal, hidden = (f"{words.edge}(?:{each})" for each in (words.reveal, words.hidden))
    source = f"{reveal}{words.edge}{_blank(words)}{words.fill}{hidden}"
    return wording(f"reveal-prompt-{words.code}", source, literals(words.reveal), literals(words.hidden))


def _new_role(words: _Language) -> Pattern:
    now, freed = (f"{words.edge}(?:{each}){words.edge}" for each in (words.now, words.freed))
    source = f"{now}{_blank(words)}{words.fill}{words.fill}{freed}"
    return wording(f"new-role-{words.code}", source, literals(words.now), literals(words.freed))


def _blank(words: _Language) -> str:
    return " " if words.fill.startswith("<") else ""


def language_patterns() -> Iterator[Pattern]:
    """Every order of every language that has words for it."""
    for words in _LANGUAGES:
        yield _drop_instructions(words)
        if words.reveal:
            yield _reveal_prompt(words)
        if words.now:
            yield _new_role(words)
