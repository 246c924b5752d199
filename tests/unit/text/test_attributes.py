"""What users say of themselves that lasts: found where it is plain, and nowhere else."""

from __future__ import annotations

import pytest

from mnemic.text.facts.find import read_attributes
from mnemic.text.facts.statements import plain_statements

TOLD: tuple[tuple[str, dict[str, str]], ...] = (
    ("My name is Anna.", {"name": "Anna"}),
    ("Hi, my name's Anna Maria Schmidt and I live in Porto.", {"name": "Anna Maria Schmidt", "home": "Porto"}),
    ("Please call me Bob.", {"name": "Bob"}),
    ("I go by Kit, and I speak English and German.", {"name": "Kit", "language": "English and German"}),
    ("I live in New York City with my wife.", {"home": "New York City"}),
    ("I'm currently living in São Paulo, Brazil.", {"home": "São Paulo, Brazil"}),
    ("I am based in Kraków since spring.", {"home": "Kraków"}),
    ("I'm based in the San Francisco Bay Area.", {"home": "San Francisco Bay Area"}),
    ("I just moved to Berlin, the flat is tiny.", {"home": "Berlin"}),
    ("I moved from Porto to Lisbon, and the new apartment has a balcony.", {"home": "Lisbon"}),
    ("We talked. I've relocated to Oslo.", {"home": "Oslo"}),
    ("I work as a nurse at Charité.", {"job": "nurse", "employer": "Charité"}),
    ("I work as a software engineer.", {"job": "software engineer"}),
    ("I'm a carpenter by trade.", {"job": "carpenter"}),
    ("I work for Blue Origin.", {"employer": "Blue Origin"}),
    ("My native language is Ukrainian.", {"language": "Ukrainian"}),
    ("My birthday is on March 3rd.", {"birthday": "March 3rd"}),
    ("my birthday is the 3rd of March, 1990.", {"birthday": "the 3rd of March, 1990"}),
    ("我叫李雷，住在上海。", {"name": "李雷"}),
    ("我叫李雷。我住在上海。", {"name": "李雷", "home": "上海"}),
    ("我最近搬到了杭州。", {"home": "杭州"}),
    ("我是一名老师，我在北京大学工作。", {"job": "老师", "employer": "北京大学"}),
    ("我是一位软件工程师。", {"job": "软件工程师"}),
    ("我的生日是3月5日。我的母语是中文。", {"birthday": "3月5日", "language": "中文"}),
    ("My name is Ann. Sorry, my name is Anne.", {"name": "Anne"}),
)

NOT_TOLD = (
    "Is my name Anna?",
    "What is my name?",
    "My name is not Anna.",
    "My name isn't Anna.",
    "If my name is Anna, what is my initial?",
    "My sister's name is Clara.",
    "My sister lives in Berlin.",
    "She said my name is Clara.",
    'The hero says "my name is Inigo".',
    "The film with “my name is Bond”.",
    "> my name is Clara",
    "Write a cover letter: my name is Clara and I work at Siemens.",
    "Pretend that my name is Blackbeard.",
    "Translate into French: my name is Anna.",
    "```\nname = 'my name is Anna'\n```",
    "I used to live in Rome.",
    "I lived in Rome.",
    "When I live in Rome, I eat well.",
    "I would live in Rome.",
    "I want to live in Rome.",
    "Maybe I live in Rome next year.",
    "I plan that I live in Rome.",
    "I live in a small house.",
    "I live in fear.",
    "I live in the countryside.",
    "I live in Excel all day.",
    "I moved to Linux.",
    "I moved to Python 3 from Perl.",
    "I work as usual.",
    "I work as a team.",
    "I work as hard as I can.",
    "I work at night.",
    "I work for free.",
    "I'm a vegetarian.",
    "I'm a bit tired.",
    "I'm a big fan of Berlin.",
    "Call me tomorrow.",
    "Call me Monday.",
    "They call me Speedy.",
    "I no longer work at Siemens.",
    "I don't speak German.",
    "You live in Paris, I know.",
    "My name is on the list.",
    "My birthday is soon.",
    "我叫他来。",
    "我叫了外卖。",
    "我叫外卖。",
    "他说我叫李雷。",
    "我不叫李雷。",
    "我以前住在上海。",
    "我住在朋友家。",
    "我住在五楼。",
    "如果我住在上海就好了。",
    "我想搬到杭州。",
    "我是一名会员。",
    "我是一名素食者。",
    "我是李雷的老师。",
    "帮我写一封信：我叫李雷。",
    "我叫李雷吗？",
    "我在上海工作。",
)


class TestWhatIsTold:
    @pytest.mark.requirement("R-35")
    @pytest.mark.parametrize("text, facts", TOLD)
    def test_plain_statements_give_facts_in_their_own_words(self, text: str, facts: dict[str, str]):
        assert read_attributes(text) == facts

    @pytest.mark.requirement("R-35")
    @pytest.mark.parametrize("text", NOT_TOLD)
    def test_nothing_else_gives_any(self, text: str):
        assert read_attributes(text) == {}

    def test_a_long_text_is_taken_for_pasted(self):
        assert read_attributes("My name is Anna. " + "And so on and on. " * 100) == {}

    def test_no_text_takes_long_or_raises(self):
        for text in ("", " ", "my name is " * 140, "I live in " + "A" * 1400, "我叫" * 700, "I work as " + "a-" * 600):
            assert read_attributes(text) == {}

    def test_only_statements_of_oneself_are_plain(self):
        assert plain_statements("I like tea. Berlin is big. Do I like tea? I do not like milk.") == ["I like tea."]
