"""What the curator made of a part of a day, by a model or by rules, and how a gem becomes a fact."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.engine.facts.assimilate import Place
from mnemic.engine.kinds import CURATE
from mnemic.errors import BadReplyError
from mnemic.model.fact import Fact
from mnemic.model.gem import IMPORTANCE_WORDS, IN_METADATA, Gem, turn_range
from mnemic.model.item import TRUST_ORDER, Kind, Message, Provenance, Role
from mnemic.model.llm import Finish, Usage
from mnemic.model.scope import Partition
from mnemic.model.verdict import Decision, Verdict
from mnemic.ports.llm import Llm
from mnemic.text.curator import CURATOR_VERSION, curator_prompt
from mnemic.text.gem_rules import RULES_VERSION, gem_records
from mnemic.text.gems import Found, Gems, Rejected, checked_gems, read_gems
from mnemic.text.narrative import ToldTurn, numbered
from mnemic.text.prompts import counted

RULES = "rules"
"""What is named as the model where there is none."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was found in some turns. `version` is that of the provenance; `may_stay`: another run may find more, so the
    turns of what was rejected stay.
    """

    turns: tuple[ToldTurn, ...]
    found: tuple[Found, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    model: str = ""
    version: str = ""
    may_stay: bool = False
    usage: Usage = field(default_factory=Usage)
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class KeptGem:
    """A valid gem, and what was done with it: see `mnemic.model.verdict.Decision`."""

    gem: Gem
    verdict: Verdict
    memory_id: str | None
    other_id: str | None
    reason: str

    @classmethod
    def of(cls, gem: Gem, decision: Decision) -> KeptGem:
        """The gem with a decision."""
        return cls(gem, decision.action, decision.memory_id, decision.other_id, decision.reason)


@dataclass(frozen=True, slots=True)
class RefusedGem:
    """A gem that was none: its beginning, why, the turns of a conversation that it named ("" where none), and whether
    they were let go after the last run that may try.
    """

    excerpt: str
    reason: str
    conversation_id: str
    turn_range: str
    is_let_go: bool

    @classmethod
    def of(cls, rejected: Rejected, let_go: Collection[str]) -> RefusedGem:
        """What was rejected; `let_go` are the conversations whose turns were."""
        session = rejected.turns[-1].conversation_id if rejected.turns else ""
        turns = sorted({turn.turn for turn in rejected.turns if turn.conversation_id == session})
        is_let_go = session in let_go if session else bool(let_go)
        return cls(rejected.excerpt, rejected.reason, session, turn_range(turns) if turns else "", is_let_go)


def ask_rules(turns: Sequence[ToldTurn]) -> Made:
    """What the rules find."""
    gems = checked_gems(gem_records(turns), turns)
    return Made(tuple(turns), gems.found, gems.rejected, RULES, RULES_VERSION)


def ask_model(llm: Llm, turns: Sequence[ToldTurn], tries: int) -> Made:
    """What a model finds; where its reply is cut, in each half. Raises the errors of the model, and `BadReplyError` for
    a reply that is no list of gems.
    """
    completion = llm.complete(curator_prompt(turns, llm.capabilities.context_tokens, tries))
    gems = read_gems(completion.text, turns)
    is_cut = gems.is_cut or completion.finish is Finish.LENGTH
    if is_cut and len(turns) > 1:
        halves = [ask_model(llm, numbered(half), tries) for half in _halves(turns)]
        return Made(
            tuple(turns),
            tuple(found for half in halves for found in half.found),
            tuple(rejected for half in halves for rejected in half.rejected),
            *(llm.name, halves[0].version, True),
            usage=sum((half.usage for half in halves), completion.usage),
        )
    if not gems.is_answer and not gems.found:
        raise BadReplyError(f"the curator's reply holds no list of gems{_why(gems)}")
    version = f"{llm.name} {CURATOR_VERSION}"
    return Made(tuple(turns), gems.found, gems.rejected, llm.name, version, may_stay=True, usage=completion.usage)


def place_of(partition: Partition, found: Found) -> Place:
    """Where a gem belongs: noted by the agent that all its messages share."""
    agents = {message.agent for turn in found.turns for message in turn.messages}
    return Place(partition, agents.pop() if len(agents) == 1 else None)


def fact_of(found: Found, made: Made) -> Fact:
    """The gem as a fact: of all messages of its turns that say something, of the user's alone where rules found it."""
    gem = found.gem
    shown = [message for turn in found.turns for message in turn.messages if counted(message).strip()]
    own = [message for message in shown if message.role is Role.USER]
    sources = own if made.model in (RULES, "") and own else shown
    told = {name: getattr(gem, name) for name in IN_METADATA}
    fallback = {"fallback": made.fallback} if made.fallback else {}
    return Fact(
        text=gem.gem,
        kind=Kind.GEM,
        observed_at=_latest(sources, gem),
        importance=IMPORTANCE_WORDS[gem.importance],
        confidence=gem.confidence,
        categories=gem.categories,
        context=gem.context,
        snippet=gem.snippet,
        provenance=tuple(
            Provenance(source.id, 0, len(counted(source)), CURATE, made.version, 1.0) for source in sources
        ),
        trust=min((source.trust for source in sources), key=TRUST_ORDER.index),
        metadata={"type": "gem", **told, "source_turns": list(gem.source_turns), **fallback},
    )


def _latest(sources: Sequence[Message], gem: Gem) -> datetime:
    """When it was said: the time that the gem names, in the zone in which times are stored."""
    return datetime.fromisoformat(gem.timestamp).astimezone(sources[0].observed_at.tzinfo)


def _halves(turns: Sequence[ToldTurn]) -> tuple[Sequence[ToldTurn], Sequence[ToldTurn]]:
    return turns[: len(turns) // 2], turns[len(turns) // 2 :]


def _why(gems: Gems) -> str:
    return f": {gems.rejected[0].reason}" if gems.rejected else ""
