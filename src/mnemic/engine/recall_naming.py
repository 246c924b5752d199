"""Reads the user's name in a question as "User", the word that stored facts use. Facts say "User lives in Lisbon";
people ask "Where does Ann live?". The id, name and aliases of the scope's user are replaced for the search. Stored text
and the question itself stay unchanged.
"""

import re
import time
from dataclasses import replace

from mnemic.engine.context_records import note_recall
from mnemic.engine.engine import Engine
from mnemic.engine.indexing import Asked
from mnemic.engine.inputs import Question
from mnemic.engine.passages import with_quotes
from mnemic.engine.profile import get_profile
from mnemic.engine.recall import answer, tell
from mnemic.model.item import Memory
from mnemic.model.recall import Recall
from mnemic.model.scope import Level, Scope

NAME_KEYS = frozenset(
    ("name", "full name", "first name", "nickname", "alias", "aliases", "user name", "姓名", "名字", "昵称", "nombre")
)
"""Profile keys that hold the user's names, with blanks for other separators."""

NAME_FACTS = 5  # memories searched for the user's name: leaves room for other people's
_HAN = re.compile(r"[\u3400-\u9fff]")
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ][\w'-]*")
_SAID_NAME = re.compile(
    r"^User(?:'s (?:full |first |nick)?name is| is (?:called|named)| goes by)(?: the name)? (?P<en>[A-ZÀ-Þ][\w'-]*)"
    r"|^用户(?:的?(?:名字|姓名|昵称))?(?:是|叫做?)\s*(?P<zh>[^\s，。,.]{1,6})"
    r"|^El usuario se llama (?P<es>[A-ZÀ-Þ][\w'-]*)"
)
_LEAST_CHARS = 2  # a single letter is no name


def recall(engine: Engine, scope: Scope, question: Question) -> Recall:
    """As `answer`, with the user's id and the names in the profile read as "User": a second search for names that are
    only in facts would cost as much as the first. Passages have quotes. The memories found count as accessed.
    """
    from mnemic.engine.due import with_due

    with engine.observer.span("mnemic.recall", question_chars=len(question.text)) as span:
        question = with_user_named(engine, scope, question, is_searched=False)
        found = answer(engine, scope, question)
        hits = with_due(engine, scope.visibility.at(*question.levels), question, found.hits)
        found = replace(found, hits=with_quotes(engine, question, hits))
        tell(span, found)
    note_recall(engine, scope, question, found)
    return found


def with_user_named(engine: Engine, scope: Scope, question: Question, *, is_searched: bool = True) -> Question:
    """The question, searched with "User" in place of the scope user's names. A search by similarity stays as it is."""
    if question.min_similarity is not None:
        return question
    searched = retold(question.text, _names(engine, scope, question.text, is_searched=is_searched))
    return question if searched == question.text else replace(question, searched=searched)


def retold(text: str, names: set[str]) -> str:
    """The text with each name replaced by "User" (用户 in Chinese): whole words, as written or capitalised."""
    for name in sorted(names, key=len, reverse=True):
        if len(name) < _LEAST_CHARS:
            continue
        if _HAN.search(name):
            text = text.replace(name, "用户")
        else:
            forms = "|".join(map(re.escape, {name, name.title()}))
            text = re.sub(rf"(?<![\w@.])(?:{forms})(?![\w@])", "用户" if _HAN.search(text) else "User", text)
    return text


def _names(engine: Engine, scope: Scope, text: str, *, is_searched: bool) -> set[str]:
    """The user's names that may be in the text, those in facts too if `is_searched`. Without any, reads nothing."""
    if scope.user is None:
        return set()
    names = {scope.user} if scope.user.replace("-", "").isalpha() else set[str]()
    terms = {*engine.analyser.query_terms(text)}
    capitals = [word for word in _CAPITAL.findall(text) if not terms.isdisjoint(engine.analyser.query_terms(word))]
    if not capitals and not _HAN.search(text):
        return names
    for entry in get_profile(engine, scope):
        if entry.key.casefold().replace("_", " ").replace("-", " ") in NAME_KEYS:
            names.update(each.strip() for each in re.split(r"[,;/、]", entry.value) if each.strip())
            names.update(entry.value.split()[:1])
    return names | (_said_names(engine, scope, " ".join(capitals) or text) if is_searched else set[str]())


def _said_names(engine: Engine, scope: Scope, words: str) -> set[str]:
    """Names in memories such as "User's name is Ann.", found by keyword."""
    question = Question(
        text=f"User's name is {words}", limit=NAME_FACTS, levels=(Level.USER,), kinds=frozenset(("fact", "context"))
    )
    nothing = Asked(tuple(None for _ in engine.embedders), (), time.perf_counter())
    found = answer(engine, scope, question, nothing)
    told = (_SAID_NAME.match(hit.text) for hit in found.hits if isinstance(hit.item, Memory) and not hit.is_fallback)
    return {name for each in told if each for name in each.groups() if name}
