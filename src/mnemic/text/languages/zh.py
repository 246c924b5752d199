"""Chinese: what the rules know of it. Simplified first; where questions are read, traditional too."""

from __future__ import annotations

import re

from mnemic.model.item import Kind
from mnemic.text import scripts
from mnemic.text.languages import (
    TECHNICAL,
    ChoiceRules,
    ClauseRules,
    DateRules,
    GemRules,
    Language,
    RestatingRules,
    SalienceRules,
    SlotRules,
    StatementRules,
    cue,
    rules,
)
from mnemic.text.late_pattern import late_pattern

_QUOTED = late_pattern(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
_PERSON = late_pattern(r"我们|咱们|我|咱")
_OWNED = late_pattern(
    r"爸|妈|哥|姐|弟|妹|爷|奶|女儿|儿子|老公|老婆|丈夫|妻子|先生|太太|家(?:里|人|乡|在|住|有)|朋友|同事|老板|男友|女友"
    r"|男朋友|女朋友|外公|外婆|姥|叔|舅|姑|姨|父|母|公司|室友|[大小老]?(?:狗|猫)"
)
_ENDINGS = late_pattern(r"[呢呀啊哦啦吧哈嘛]+$")


def third_person(clause: str) -> str:
    """The clause with the speaker as 用户: 我搬家了 becomes 用户搬家了; quotations stay. No string raises."""
    pieces: list[str] = []
    done = 0
    for quoted in _QUOTED.finditer(clause):
        pieces += [_PERSON.sub(_name, clause[done : quoted.start()]), quoted.group()]
        done = quoted.end()
    pieces.append(_PERSON.sub(_name, clause[done:]))
    return _ENDINGS.sub("", "".join(pieces))


def _name(person: re.Match[str]) -> str:
    if len(person.group()) > 1:
        return "用户和其他人"
    return "用户的" if _OWNED.match(person.string, person.end()) else "用户"


_SHORTEST_CLAUSE = 4
"""Fewer characters before a comma are no clause."""

_STATEMENTS = StatementRules(
    opening=late_pattern(
        r"(?:(?:你好|您好|嗨|谢谢你?|多谢|好的|嗯+|是的|对了?|哦|其实|另外|顺便说一下|顺便|还有|请?记住|请?记得|说实话"
        r"|对我来说|总之|没错|当然|不|哈+)[，,。！!：:、\s]+|(?:而且|但是|不过|所以|然后|其实|因为)(?=我|咱))+"
    ),
    refused=late_pattern(
        r"[?？][”」』）)]*\s*$|[吗呢么嘛][。！!.~～…\s]*$|吗[，,]|^(?:请|帮|麻烦|能不能|可以|给我|告诉我|写|翻译|解释"
        r"|介绍|推荐|列出|教我|别|不要|继续|说说|讲讲)|^(?:如果|假如|要是|假设|倘若|万一|即使|比如|例如)|(?:如果|假如"
        r"|要是|假设)我|我(?:可能|也许|或许|大概|说不定|恐怕)|^(?:可能|也许|或许)|^(?:什么|怎么|为什么|哪|谁|几|多少"
        r"|何时)|(?:什么|怎么样?|为什么|哪里|哪个|是否|多少)[。！!\s]*$|要不要|是不是|能不能|有没有|^(?:谢谢|多谢"
        r"|感谢你|再见|晚安|早上好|晚上好|你好|您好|拜拜|不客气|辛苦)|(?:我)?(?:想问|想知道|想请问|请问|想让你|需要你"
        r"|希望你|要你|同意|明白了|知道了|懂了|了解了)|你(?:刚才|之前)?(?:说|提到|建议|推荐|觉得|认为|能|会|可以|知道)"
        r"|你的(?:建议|回答|帮助|意见)|开玩笑|逗你|[“「][^”」]*我[^”」]*[”」]"
    ),
    condition=late_pattern(r"^(?:如果|假如|要是|假设|倘若|万一|即使)"),
    material=late_pattern(r"(?:翻译|润色|改写|续写|写一[篇首封个段]|扮演|假装|帮我写|总结一下).*"),
    cut=late_pattern(
        r"[，,；;]\s*(?:而且|但是|但|不过|所以|然后|也|还)?(?=我|咱)|[，,；;]\s*(?:而且|但是|不过|所以|然后)"
    ),
    keeps_together=lambda left, _sentence, _cut: len(left) < _SHORTEST_CLAUSE,
)
_KINDS = (
    (
        Kind.GOAL,
        late_pattern(
            r"我(?:\w{0,3})(?:想要|打算|计划|希望|准备|决心|立志|想(?!起|到|不)|要(?!是))|(?:目标|梦想|愿望|计划)是"
        ),
    ),
    (
        Kind.PREFERENCE,
        late_pattern(
            r"我\w{0,4}(?:喜欢|爱(?!人|好)|讨厌|偏好|偏爱|热爱|更喜欢|不吃|不喝|最爱|钟爱|受不了"
            r"|对.{1,8}(?:感兴趣|过敏))|(?:爱好|兴趣)是"
        ),
    ),
    (
        Kind.EVENT,
        late_pattern(
            r"(?:昨天|前天|上周|上个月|去年|刚刚?|今天).*[了过]"
            r"|我\w{0,6}(?:参加|毕业|结婚|离婚|买|去|搬|辞职|入职|升职|收到|看|见|丢|赢|输|生)\w{0,6}[了过]"
        ),
    ),
    (Kind.CONTEXT, late_pattern(r"最近|目前|现在|正在|我\w{0,2}(?:用|使用|在用|在做|在学|在找|在准备)")),
)

_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜戚谢邹喻苏潘葛范彭鲁韦马苗方俞任袁柳唐罗薛贺"
    "倪汤滕殷毕郝邬安常乐傅康伍余顾孟黄穆萧尹姚邵汪祁毛狄米贝戴宋庞熊纪舒屈项祝董梁杜阮蓝席季贾路江童颜郭梅林钟徐"
    "邱骆高夏蔡田樊胡凌霍万卢莫房丁邓郁崔龚程陆段侯武刘叶黎白赖乔谭"
)
_START = r"(?:^|[，,。；;：:！!、 ])"
_END = r"(?=[，,。；;！!、 ]|$)"
_FULL_NAME = rf"(?:[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}|(?:欧阳|司马|上官|诸葛)[\u4e00-\u9fff]{{1,2}}|[A-Z][A-Za-z]+)"
_PLACE = r"(?![^，,。；;！!、 ]*[这那哪楼里家店馆舍房园旁校附近山下])[\u4e00-\u9fff]{2,8}?"
_JOB = (
    r"[\u4e00-\u9fff]{0,6}(?:师|(?<![会党团成队])员|(?<!大)家|经理|教授|记者|司机|警察|护士|会计|编辑|医生|学生"
    r"|研究生|工人|农民|军人)"
)
_ORGANISATION = r"[\u4e00-\u9fffA-Za-z]{2,15}?(?:公司|银行|大学|医院|集团|研究所|研究院|出版社|学院|小学|中学)"
_FEELINGS = {
    **dict.fromkeys(("喜欢", "爱"), "like"),
    **dict.fromkeys(("不喜欢", "不爱"), "dislike"),
    **dict.fromkeys(("讨厌", "恨"), "hate"),
    "不再喜欢": "no longer",
}
_SLOTS = SlotRules(
    plain=rules(
        ("name", rf"{_START}(?:我叫|我的名字(?:是|叫)|我名叫)(?P<value>{_FULL_NAME}){_END}"),
        ("home", rf"{_START}我(?:现在|目前)?住在(?P<value>{_PLACE}){_END}"),
        ("home", rf"{_START}我(?:刚|最近|已经)?搬到了?(?P<value>{_PLACE})了?{_END}"),
        ("job", rf"{_START}我(?:现在|目前)?(?:是一[名位个]|的职业是|的工作是)(?P<value>{_JOB}){_END}"),
        ("employer", rf"{_START}我(?:现在|目前)?在(?P<value>{_ORGANISATION})(?:工作|上班){_END}"),
        ("language", rf"{_START}我的母语是(?P<value>[\u4e00-\u9fff]{{1,6}}[语文话]){_END}"),
        ("language", rf"{_START}我(?:会)?说(?P<value>[\u4e00-\u9fff]{{1,4}}[语文话]){_END}"),
        ("birthday", rf"{_START}我的?生日是(?P<value>(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号]){_END}"),
    ),
    commission=late_pattern(
        r"帮我写|写一|翻译|润色|改写|扮演|假装|角色|故事|小说|剧本|作文|邮件|写信|台词|例如|比如|简历|例句|造句",
        re.IGNORECASE | re.MULTILINE,
    ),
    unsure=late_pattern(
        r"[?？\"“”«»「」『』‘]|[吗呢么]|不|没|别|如果|假如|要是|假设|可能|也许|或许|曾经|以前|之前|过去|希望|想|打算"
        r"|计划|说过|他|她|别人|有人|梦|开玩笑|当时|那时|临时"
    ),
    first_person=late_pattern("我"),
    loose=rules(
        (
            "home",
            (
                r"我(?:们)?(?:刚|最近|已经|昨天|上周|上个月|去年)*搬(?:到|去)了?"
                r"(?P<value>[\u4e00-\u9fff]{2,6}?)(?:了|住|$|[，,。])"
            ),
        ),
        ("age", r"我(?:今年|已经)?(?P<value>\d{1,2})岁"),
        ("relationship", r"我(?:已经|刚)?(?P<value>结婚|离婚|订婚|单身)了?$"),
        ("diet", r"我(?:是|现在是)?(?:现在)?(?P<value>(?<=是)素食者|(?<=是)素食主义者|(?<!是)吃素)"),
    ),
    doubt=late_pattern(r"没|不|想|打算|以前|曾经|小时候"),
    favourite=late_pattern(r"我最喜欢的(?P<thing>[\u4e00-\u9fff]{1,6}?)(?:现在)?是(?P<value>[^，。；]{1,20})$"),
    told=rules(
        ("home", r"用户(?:现在|目前)?(?:住在|搬到了?)(?P<value>[^，,。；;、 ]{1,12}?)了?"),
        ("employer", r"用户(?:现在|目前)?在(?P<value>[^，,。；;、 ]{2,16}?)(?:工作|上班)"),
        ("name", r"用户(?:叫|名叫|的名字(?:是|叫))(?P<value>[^，,。；;、 ]{1,8})"),
        ("job", r"用户的(?:职业|工作)是(?P<value>[^，,。；;、 ]{1,12})"),
    ),
    change=late_pattern("搬到"),
    feels=late_pattern(
        rf"用户(?:现在|目前)?(?P<feeling>{'|'.join(sorted(_FEELINGS, key=len, reverse=True))})"
        r"[ ]?(?P<object>[^,;:.!?，。；！？]{1,60})"
    ),
    feelings=_FEELINGS,
    begins_lower=("用户",),
)

_N = r"(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,2})"
_UNIT = "(?P<unit>天|周|星期|礼拜|月|年)"
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨晚": -1,
    "明天": 1,
    "后天": 2,
    "大后天": 3,
    **dict.fromkeys(("今天", "今晚", "今早"), 0),
}
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}
_DATES = DateRules(
    rules=rules(
        ("day", "|".join(sorted(_DAYS, key=len, reverse=True))),
        ("day_of_week", r"(?P<step>上|这|本|下)(?:个)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"),
        ("ago", rf"{_N}个?{_UNIT}(?:之)?前"),
        ("ahead", rf"{_N}个?{_UNIT}(?:之)?后"),
        ("near", r"(?P<step>上|这|本|下)个?(?P<unit>周|星期|礼拜|月)"),
        ("year", "|".join(_YEARS)),
        ("in_year", r"(?<!\d)(?P<year>(?:19|20)\d\d)\s?年(?!\s?\d{1,2}\s?月)"),
    ),
    days=_DAYS,
    numbers={
        **{word: number for number, word in enumerate("一二三四五六七八九十", start=1)},
        "两": 2,
        "兩": 2,
        "十一": 11,
        "十二": 12,
    },
    units={
        **dict.fromkeys(("天", "日"), "day"),
        **dict.fromkeys(("周", "週", "星期", "礼拜"), "week"),
        "月": "month",
        "年": "year",
    },
    steps={"上": "last", "这": "this", "本": "this", "下": "next"},
    weekdays={"天": 6} | {name: day for day, name in enumerate("一二三四五六日")},
    years=_YEARS,
    labels={
        "day": "（{0:%Y-%m-%d}）",
        "week": "（{0:%Y-%m-%d}那一周）",
        "month": "（{0:%Y}年{0.month}月）",
        "year": "（{0:%Y}年）",
    },
    written=late_pattern(
        r"(?:(\d{4})\s*年\s*)?(?<!\d)(\d{1,2}|十[一二]?|[一二三四五六七八九])\s*月(?:\s*(\d{1,2})\s*[日号號])?"
    ),
    ago=late_pattern(r"(\d{1,3}|[一二三四五六七八九十两兩])\s*[個个]?(天|日|週|周|月|年)(?:以)?前"),
    since=(
        (late_pattern("昨天|昨日"), 1, 1),
        (late_pattern("前天"), 2, 2),
        (late_pattern("上[週周]|上[個个]星期"), 13, 2),
        (late_pattern("上[個个]月"), 60, 1),
    ),
    cues=("前", "昨", "上"),
)

_SALIENCE = SalienceRules(
    life=late_pattern(
        r"我(?:的)?(?:爸|妈|父|母|哥|姐|弟|妹|爷|奶|外婆|外公|女儿|儿子|老公|老婆|丈夫|妻子|女朋友|男朋友|孩子|狗|猫"
        r"|生日|名字|工作|专业|老家|母语)|我(?:是一?[名个位]|叫|姓|来自|住|有一?[只个辆套]|养了?|在.{1,12}(?:工作|上班"
        r"|上学|读书)|会说|对.{1,8}过敏|不吃|不喝|毕业)"
    ),
    own=late_pattern("我|咱"),
    owned=late_pattern("我|咱"),
    named=late_pattern(r"(?<=[a-z,] )(?!I\b)[A-Z][\w'’-]+|《|[A-Za-z]{2,}(?=[\u4e00-\u9fff])"),
    number=late_pattern(r"\d|[一二三四五六七八九十两]+(?:个|年|天|岁|次|只|名|位|月)"),
    feeling=late_pattern(r"高兴|开心|难过|焦虑|担心|紧张|自豪|失望|喜欢|讨厌|害怕|生气|兴奋|过敏|压力"),
    decision=late_pattern(r"决定|开始|换|放弃|加入|接受|买了|搬"),
    hanging=late_pattern(r"^(?:它|他|她|这|那)"),
    impersonal=late_pattern(r"^(?:这|那|它)"),
    opinion=late_pattern(r"我(?:觉得|认为|想(?!要)|相信|希望)"),
    courtesy=late_pattern(r"谢谢|感谢|你"),
)
_RESTATING = RestatingRules(
    assent=late_pattern(r"(?:是的|对(?!不|于|方)|没错|确实|嗯|当然|正是)"),
    denial=late_pattern(r"(?:不是|不对|没有|并不|不[，,]|才不|错了)"),
    negation=late_pattern(r"不|没|并非"),
    frame=late_pattern("^(?:听起来|看来|看起来|感觉|原来)[，,]?(?=[你您])"),
    user=late_pattern("[你您]"),
    own=late_pattern("我|咱"),
    no_report=late_pattern(
        r"[?？]\W*$|如果|假如|要是|可以|应该|建议|可能|也许|顺便|另外|记得|之前|提到|不妨|[吗呢吧][。！!]*$"
    ),
    first_person=lambda sentence: _USER.sub("我", sentence),
    about=late_pattern(".{0,8}我"),
    named=late_pattern(r"(?<=[a-z,] )(?!I\b)[A-Z][\w'’-]+|\d[\d.,]*"),
)
_USER = late_pattern("[你您]们?")

_GEMS = GemRules(
    cues=(
        cue("decision", 1.2, "决定|选择了|选定|选了|改用|换成|就用|定下来|最终用|敲定|放弃了"),
        cue("insight", 1.2, "原来|结果发现|根本原因|问题出在|解决了|教训|明白了.{4,}|意识到|学到"),
        cue(
            "preference",
            1.1,
            r"我\w{0,3}(?:喜欢|讨厌|偏好|偏爱|习惯|受不了)|我(?:总是|从不|从来不)|请(?:总是|永远|不要再)|过敏",
        ),
        cue("decision", 0.8, "我们(?:应该|必须|得)"),
        cue("plan", 0.9, r"我\w{0,3}(?:打算|计划|准备)|目标是|截止"),
        cue("project", 0.7, r"我\w{0,2}在(?:做|写|开发|搭建)|我们?的(?:项目|产品|公司|论文)"),
        cue("knowledge", 0.5, "我(?:住在|叫|是一名|在.{2,10}工作)"),
    ),
    topics=(
        cue("technical", 0.0, TECHNICAL, "数据库|服务器|接口|代码|缓存|部署|模型|框架|编译|漏洞"),
        cue("architecture", 0.0, "架构|模块|微服务|单体|数据库|表结构|分层"),
        cue("workflow", 0.0, "流程|每天|每周|每次|例会|流水线|评审"),
    ),
    reason=late_pattern(r"因为|由于|所以|为了|否则"),
    concrete=late_pattern(r"\d|(?<=[a-z,;] )(?!I\b)[A-Z][\w.+#-]+|`[^`]+`|[A-Za-z]{3,}(?=[\u4e00-\u9fff])"),
    passing=late_pattern(r"午饭|晚饭|早饭|天气|今晚|暂时|哈哈|现在先"),
    hanging=late_pattern(r"^(?:它|这|那)"),
    asking=late_pattern(r"[?？]\W*$|^(?:请(?!总是|永远|不要再)|帮|能不能|怎么|为什么|谢谢|你好)"),
    opening=late_pattern(r"^(?:好的?|嗯|那|所以|对了?)[，,。！\s]+"),
    after="回应{who}：“{line}”",
    own_words="{day}亲口所说。",
)
_CHOICES = ChoiceRules(
    rules=rules(
        (
            "选择",
            r"(?P<who>用户和其他人|用户)(?:又|再次|也|还是)?(?:决定)?(?:选择?了?|选用了?|采用了?|改?用了|使用)(?P<thing>.+)$",
        )
    ),
    tail=late_pattern(r"(?:,|;|\(|（|，|；| [-–—] )[\s\S]*$|(?:因为|而不是|来|做|作为|当作|写|给)[\s\S]*$"),
    refused=late_pattern(r"\?|不|没|别|如果|考虑|可能"),
    summary="{who}通常选择{thing}（{first:%Y-%m-%d}至{last:%Y-%m-%d}共{times}次）",
)

_A = r"(?P<a>[^\s]{1,12}?|[A-Za-z][\w .-]{0,30}?)"
_B = r"(?P<b>[^\s]{1,14}?|[A-Za-z][\w .-]{0,30}?)"
_NOW = "(?:现在|目前|已经|一直|也|都|主要)?"
_DONE = "(?:了|的)?"
_CLAUSES = ClauseRules(
    relations=rules(
        ("works at", f"{_A}{_NOW}在{_B}(?:工作|上班|任职){_DONE}"),
        ("lives in", f"{_A}{_NOW}(?:住在|居住在|搬到了?|搬去了?){_B}{_DONE}"),
        ("depends on", f"{_A}{_NOW}(?:依赖于?|取决于|基于){_B}{_DONE}"),
        ("uses", f"{_A}{_NOW}(?:使用|采用|用的是){_B}{_DONE}"),
        ("created by", f"{_A}是?由{_B}(?:创建|开发|创立|创办|编写|设计){_DONE}"),
        ("created", f"{_A}(?:创建|开发|创立|创办)了{_B}"),
        ("managed by", f"{_A}由{_B}(?:负责|领导|管理){_DONE}"),
        ("manages", f"{_A}{_NOW}(?:负责|领导|管理){_B}{_DONE}"),
        ("reports to", f"{_A}{_NOW}向{_B}汇报{_DONE}"),
        ("part of", f"{_A}是{_B}的(?:一部分|子公司|组成部分)"),
        ("part of", f"{_A}(?:属于|隶属于){_B}{_DONE}"),
        ("located in", f"{_A}位于{_B}{_DONE}"),
        ("governs", f"{_A}(?:适用于|约束){_B}{_DONE}"),
        ("governed by", f"{_A}(?:遵守|遵循|受制于){_B}{_DONE}"),
        ("also known as", f"{_A}(?:又称|简称|也叫|又名){_B}"),
    ),
    speakers=("我", "用户"),
    before_name=late_pattern("^(?:我们的?|我的|用户的|这个|那个|他们的?|其中|因为|所以|但是?|而且?|现在|目前)+"),
    typed=late_pattern("^(?:项目|公司|系统)(?=.)|(?:这座城市|这家公司)$"),
    denying=late_pattern("不|没|别|如果|假如|是否|可能|也许|吗|吧|谁|什么|哪"),
    nobody=late_pattern("^(?:他|她|它|他们|她们|大家|你|您|你们|这|那|这里|那里|家|家里|一起|自己)$"),
    endings={
        "organisation": "公司 大学 银行 医院",
        "project": "项目",
        "policy": "政策 条例",
        "place": "市 省",
    },
)

LANGUAGE = Language(
    code="zh",
    script=late_pattern(f"[{scripts.HAN}]"),
    never=late_pattern(f"[{scripts.KANA}]"),
    user="用户",
    third_person=third_person,
    joint="；",
    is_cased=False,
    statements=_STATEMENTS,
    kinds=_KINDS,
    slots=_SLOTS,
    dates=_DATES,
    salience=_SALIENCE,
    restating=_RESTATING,
    gems=_GEMS,
    choices=_CHOICES,
    clauses=_CLAUSES,
    asks_assistant=late_pattern(
        r"[你您](?:之前|上次|曾經|曾经|剛才|刚才)?[^，。？]{0,4}(?:推薦|推荐|建議|建议|提到|告訴|告诉|說過|说过)"
    ),
    courtesies="你好 您好 谢谢 多谢 好的 好 是的 不客气 再见 嗯 早上好 晚安",
)
