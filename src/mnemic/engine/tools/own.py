"""Mnemic's own tools: clock, remember, recall, forget, and two that read documents, each within the caller's scope.
Their results may hold text of any author, so they are sanitised data between markers, like the blocks of a context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Literal

from mnemic.engine.browse import get
from mnemic.engine.context_filling import tell_item
from mnemic.engine.engine import Engine
from mnemic.engine.erase import delete
from mnemic.engine.inputs import Question, check_id, memory_draft
from mnemic.engine.jobs import zone_of
from mnemic.engine.recall import least_relevance
from mnemic.engine.recall_naming import recall as find
from mnemic.engine.remember import remember as keep
from mnemic.engine.research import ResearchRequest, research
from mnemic.engine.tools.function import tool
from mnemic.engine.tools.toolbox import Toolbox
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.candidates import MESSAGE
from mnemic.model.chat import ToolContext
from mnemic.model.document import ResearchLimits, ResearchReport
from mnemic.model.filter import parse_filter
from mnemic.model.item import Chunk, Item, Kind, Message, State, Trust
from mnemic.ports.models import Tool
from mnemic.text.blocks import Excerpt, documents_block, facts_block
from mnemic.text.graph.picture import edge_lines

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MAX_HITS = 20  # about 1,000 tokens of a model's context
MAX_HOPS = 4  # relations; beyond four nearly everything is reached
_DOCUMENTS = frozenset({Kind.DOCUMENT.value})
_NO_DOCUMENTS = frozenset({MESSAGE, *(kind.value for kind in Kind if kind is not Kind.DOCUMENT)})


LEAST_CALLS, MAX_CALLS = 2, 200  # one to read and one to answer; 200 bound the cost of one tool call
MAX_QUESTION_CHARS = 4000  # about 1,000 tokens: each of the calls carries the question
TIMEOUT_S, DEADLINE_S = 300.0, 240.0  # the research ends a minute before the tool does, so that its answer arrives
_Value = bool | float | str
QUOTES = 3  # quotes shown per citation


def open_toolbox(engine: Engine) -> Toolbox:
    """Open the toolbox. Raises `ConfigError` if another tool has the name of one of Mnemic's own."""
    own = (
        clock_tool(engine.settings.life.time_zone),
        *memory_tools(engine),
        *document_tools(engine),
        *research_tools(engine),
    )
    return Toolbox([*own, *engine.tools()], engine.settings.assistant)


def clock_tool(time_zone: str) -> Tool:
    """The clock, which shows `time_zone` by default."""

    @tool(is_read_only=True)
    def clock(context: ToolContext, zone: str = time_zone) -> str:
        """Tells the date, the day of the week and the time of now. Call it when the answer depends on what day or time
        it is, and for the time in another place.

        Args:
            zone: The time zone as the tz database names it, such as Europe/Paris.
        """
        now = context.now.astimezone(_find_zone(zone))
        return f"{DAYS[now.weekday()]}, {now:%Y-%m-%d %H:%M:%S} {now.tzname()} (UTC{now:%z}, {zone})"

    return clock


def memory_tools(engine: Engine) -> Sequence[Tool]:
    """The memory tools. They see and change only what the scope of the call may."""

    @tool
    def remember(
        context: ToolContext, text: str, kind: Literal["fact", "preference", "goal", "event", "context"] = "fact"
    ) -> str:
        """Keeps one thing about the user for later conversations. Call it when the user asks to remember something, or
        says something lasting about themselves that you will need again. One plain sentence each; no secrets.

        Args:
            text: The thing to keep, as one sentence in the third person, such as: User prefers dark mode.
            kind: What sort of thing it is.
        """
        draft = memory_draft(text, {"kind": kind, "trust": Trust.ASSISTANT}, engine.settings)
        memory = keep(engine, context.scope, [draft], actor=context.actor)[0]
        context.tell(memory)
        if memory.state is State.QUARANTINED:
            return f"held for review as {memory.id}: it reads like an instruction to a model; a person must review it"
        return f"kept as {memory.id}"

    @tool(is_read_only=True)
    def recall(context: ToolContext, query: str, limit: int = 5, hops: int = 0) -> str:
        """Searches what is remembered of this user and of earlier conversations. Call it when the answer may depend on
        what was said before and is not in front of you.

        Args:
            query: What to look for, as a question or a few words.
            limit: The most results, 1 to 20.
            hops: 2 for a question that joins several facts, such as how two things are related; else 0.
        """
        question = replace(_make_question(engine, query, limit, _NO_DOCUMENTS), hops=min(max(hops, 0), MAX_HOPS))
        found = find(engine, context.scope, question)
        context.tell(found)
        ways = [line for path in found.paths for line in edge_lines(path.nodes, path.edges)]
        lines = [f"{hit.item.observed_at:%Y-%m-%d} {tell_item(hit.item)} (id {hit.id})" for hit in found]
        lines += dict.fromkeys(ways)
        block = facts_block(lines, is_fallback=found.is_fallback)
        return block or "nothing is remembered about that"

    @tool
    def forget(context: ToolContext, id: str, reason: str = "") -> str:
        """Deletes one memory for good. Call it only when the user asks to forget something; look for its id with recall
        first, and tell the user what was deleted.

        Args:
            id: The id of the memory, as recall showed it.
            reason: Why it is forgotten.
        """
        item = get(engine, context.scope, check_id(id))
        if isinstance(item, Chunk):
            raise InvalidInputError("this is a passage of a document; tools cannot delete documents")
        told = tell_item(item)
        context.tell(delete(engine, context.scope, item.id, actor=context.actor, reason=reason[:200]))
        return facts_block([f"deleted: {told}"])

    return remember, recall, forget


def document_tools(engine: Engine) -> Sequence[Tool]:
    """The tools for the documents of the call's scope."""

    @tool(is_read_only=True)
    def search_documents(
        context: ToolContext, query: str, limit: int = 5, filter: dict[str, _Value | dict[str, _Value]] | None = None
    ) -> str:
        """Searches the documents that were given to this memory, such as manuals, contracts and notes. Call it when the
        answer may stand in a document, and name the source and the page in your answer.

        Args:
            query: What to look for, as a question or a few words.
            limit: The most passages, 1 to 20.
            filter: Conditions on the documents, such as {"source": "lease.md"} or {"metadata.team": "core"}.
        """
        asked = replace(_make_question(engine, query, limit, _DOCUMENTS), filter=parse_filter(filter))
        found = find(engine, context.scope, asked)
        context.tell(found)
        block = documents_block(_make_excerpt(hit.item) for hit in found if not hit.is_fallback)
        return block or "no document says anything about that"

    return (search_documents,)


def research_tools(engine: Engine) -> Sequence[Tool]:
    """The tool that researches one document of the call's scope."""

    @tool(is_read_only=True, timeout_s=TIMEOUT_S)
    def analyze_large_document(context: ToolContext, document: str, question: str, max_calls: int = 24) -> str:
        """Reads one whole document, however long, to answer a question that needs many places of it, such as a summary
        of all decisions, a comparison, or contradictions. It takes minutes and many calls of a language model: call
        search_documents first, and this only when its passages are not enough. Tell the user what was not read.

        Args:
            document: The id or the source of the document.
            question: The question, complete in itself.
            max_calls: The most calls of the language model, 2 to 200; what is most relevant is read first.
        """
        if not LEAST_CALLS <= max_calls <= MAX_CALLS:
            raise InvalidInputError(f"'max_calls' must be from {LEAST_CALLS} to {MAX_CALLS}, not {max_calls}")
        if not question.strip() or len(question) > MAX_QUESTION_CHARS:
            raise InvalidInputError(f"'question' must have 1 to {MAX_QUESTION_CHARS} characters")
        limits = ResearchLimits(max_calls=max_calls, deadline_s=DEADLINE_S)
        report = research(engine, context.scope, document, ResearchRequest(question=question, limits=limits))
        context.tell(report)
        return documents_block(_make_excerpts(report))

    return (analyze_large_document,)


def _find_zone(name: str) -> tzinfo:
    try:
        return zone_of(name)
    except ConfigError as error:
        raise InvalidInputError(str(error)) from error


def _make_question(engine: Engine, query: str, limit: int, kinds: frozenset[str]) -> Question:
    if not 1 <= limit <= MAX_HITS:
        raise InvalidInputError(f"'limit' must be from 1 to {MAX_HITS}, not {limit}")
    if len(query) > engine.settings.max_query_chars:
        raise InvalidInputError(f"'query' is longer than {engine.settings.max_query_chars} characters")
    return Question(text=query, limit=limit, kinds=kinds, min_relevance=least_relevance(engine))


def _make_excerpt(item: Item) -> Excerpt:
    if isinstance(item, Chunk):
        section = item.section_of(item.text)
        return Excerpt(item.title or item.source, item.text, item.page, item.last_page, section=section)
    return Excerpt("memory" if isinstance(item, Message) else item.source or "memory", item.text)


def _make_excerpts(report: ResearchReport) -> Iterator[Excerpt]:
    """The answer and the quotes that it cites: both derive from other authors' text."""
    name = report.title or report.source
    yield Excerpt(f"{name} (what was found in it)", report.text)
    if not report.is_extractive:
        for citation in report.citations:
            for quote in citation.quotes[:QUOTES]:
                yield Excerpt(name, quote.text, quote.page, quote.last_page, number=citation.number)
