"""The keys that can be set: what each means, its default, and which environment variable says it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from mnemic.config.values import (
    HALF_LIVES_BY_KIND,
    MIN_COSINE,
    BackendSettings,
    Reader,
    any_names,
    caps,
    counting,
    cron_line,
    days_by_kind,
    default_budget_mib,
    few,
    fraction,
    free_text,
    index_backend,
    names,
    number,
    one_id,
    positive,
    quarantine,
    storage_type,
    switch,
    table,
    text,
    time_zone,
    traces,
    whole,
    window_backend,
)
from mnemic.model.scope import Level
from mnemic.model.settings import Settings

MILLION_BYTES = 1 << 20
SLIP = 0.85
"""How like the name of a variable another must be to be taken for a slip of it."""

OTHER_VARIABLES = frozenset(
    f"MNEMIC_{name}" for name in ("CONFIG", "USER", "AGENT", "SESSION", "ORG", "DEBUG", "HOST", "PORT", "KEY", "DATA")
)
"""Variables that are no keys and say something all the same."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set. `path` is its place in the file; `variables` are more names in the environment, after
    the one that follows from the path. `setting` is the field of `Settings` it fills (`life.` before one of its
    `LifeSettings`), in units of `unit`.
    """

    path: str
    reader: Reader
    about: str
    default: object = None
    variables: tuple[str, ...] = ()
    is_secret: bool = False
    setting: str = ""
    unit: float = 1

    @property
    def environment(self) -> tuple[str, ...]:
        """The variables that set it, the first one winning: MNEMIC_RECALL_LIMIT for recall.limit."""
        return (f"MNEMIC_{self.path.upper().replace('.', '_').replace('-', '_')}", *self.variables)


def _number(path: str, reader: Reader, about: str, setting: str, unit: float = 1) -> Key:
    default = cast("Any", reduce(getattr, setting.split("."), Settings()))
    return Key(path, reader, about, default if unit == 1 else default / unit, setting=setting, unit=unit)


def _text(path: str, reader: Reader, about: str, setting: str) -> Key:
    return Key(path, reader, about, reduce(getattr, setting.split("."), Settings()), setting=setting)


HALF_LIVES = "memory.decay.half-lives"
LEVEL_LIMIT = "context.level-limits."
KEYRING = "backup.keyring"
SECRETS_PASSING = "secrets.passing"
INDEX, QDRANT = "memory.index.backend", "memory.index.qdrant."
WINDOW, WINDOW_URL, WINDOW_OPTIONS = (f"memory.window.{name}" for name in ("backend", "url", "options"))

LIFE_KEYS: tuple[Key, ...] = (
    _number(
        "memory.window.messages", counting, "messages of a session before they are summarised", "life.window_messages"
    ),
    _number("memory.window.ttl-minutes", positive, "how long a session's window lives", "life.window_ttl_s", 60),
    Key(WINDOW, window_backend, "where windows are read: store, or redis, which keeps a copy of them", "store"),
    Key(WINDOW_URL, text, "where that Redis is, as redis://localhost:6379/0", None, ("REDIS_URL",), is_secret=True),
    Key(WINDOW_OPTIONS, table, "its own options, such as timeout_s and staging_ttl_hours"),
    _text("memory.summary.enabled", switch, "whether what falls out of the window is summarised", "life.summarises"),
    _number("memory.summary.batch-size", counting, "messages that make a summary", "life.summary_batch"),
    _number(
        "memory.summary.idle-minutes", positive, "silence after which the rest is summarised", "life.idle_flush_s", 60
    ),
    _number("memory.summary.importance", fraction, "importance of a summary", "life.summary_importance"),
    _number("memory.summary.raw-importance", fraction, "the same where the model failed", "life.raw_importance"),
    _text("memory.consolidation.enabled", switch, "whether repeated choices become preferences", "life.consolidates"),
    _text("memory.consolidation.cron", cron_line, "when they do", "life.consolidate_cron"),
    _number(
        "memory.consolidation.reflection-threshold",
        counting,
        "summaries of a session that cause a reflection",
        "life.reflection_threshold",
    ),
    _text("memory.graph.enabled", switch, "whether entities and relations are read by night", "life.graphs"),
    _text("memory.graph.cron", cron_line, "when they are", "life.graph_cron"),
    _text("memory.health.enabled", switch, "whether the score of health is kept by night", "life.scores_health"),
    _text("memory.health.cron", cron_line, "when it is", "life.health_cron"),
    _text("memory.reflection.enabled", switch, "whether summaries are reflected on", "life.reflects"),
    _number(
        "memory.reflection.episode-threshold",
        counting,
        "summaries it is made of; half of them must be there",
        "life.reflection_episodes",
    ),
    _number("memory.reflection.importance", fraction, "importance of a reflection", "life.reflection_importance"),
    _number("memory.decay.half-life-days", positive, "days in which importance halves", "life.half_life_days"),
    Key(HALF_LIVES, days_by_kind, "the same for some kinds", HALF_LIVES_BY_KIND),
    _number("memory.decay.floor", fraction, "importance never fades below", "life.faded_floor"),
    _text("memory.eviction.cron", cron_line, "when importance fades and memories are evicted", "life.evict_cron"),
    _number("memory.eviction.importance-threshold", fraction, "evicted are those faded below", "life.evict_below"),
    _number("memory.eviction.max-age-days", positive, "and older than this", "life.evict_after_days"),
    _number("memory.eviction.kept-importance", fraction, "but none stored with so much", "life.kept_importance"),
    _number("memory.eviction.archive-days", positive, "days in the archive before deletion", "life.archive_days"),
    _text("memory.schedule.time-zone", time_zone, "the time zone of the cron lines", "life.time_zone"),
    _text("memory.curation.enabled", switch, "whether days are curated by night", "life.curates"),
    _text("memory.curation.cron", cron_line, "when the days before are curated", "life.curate_cron"),
    _text("memory.extraction.enabled", switch, "whether facts are sought in what users say", "life.extracts"),
    _text(
        "memory.extraction.promote-learnings",
        switch,
        "whether a model is also asked what its agent should learn",
        "life.promotes_learnings",
    ),
    _number("memory.profile.max-facts", counting, "facts that a profile holds", "max_profile_facts"),
    _number("memory.jobs.llm-tries", counting, "failures of the model before a step does without", "life.llm_tries"),
    _number("memory.jobs.keep-done-days", positive, "days until a done job is forgotten", "life.done_jobs_days"),
)

ASSISTANT_KEYS: tuple[Key, ...] = (
    _number("assistant.max-tool-calls", whole, "most calls of tools in one turn of a chat", "assistant.max_tool_calls"),
    _number("assistant.tool-timeout-s", positive, "seconds to wait for a tool", "assistant.tool_timeout_s"),
    _number(
        "assistant.max-tool-result-chars",
        counting,
        "characters of a tool's answer that are kept",
        "assistant.max_tool_result_chars",
    ),
    _number("assistant.max-tokens", counting, "longest reply of the model in a chat", "assistant.max_tokens"),
    _number("assistant.timeout-s", positive, "seconds to wait for a whole reply", "assistant.timeout_s"),
    Key(
        "proxy.upstream",
        text,
        "the OpenAI-compatible server behind the proxy, as http://localhost:11434/v1",
        setting="proxy.upstream",
    ),
    Key("proxy.api-key", text, "the key that it is shown", is_secret=True, setting="proxy.api_key"),
    _text("proxy.user", text, "whose memory it is where nobody says and no key is needed", "proxy.user"),
    _number("proxy.timeout-s", positive, "seconds to wait for the next piece of an answer", "proxy.timeout_s"),
    _number("proxy.memory-timeout-s", positive, "seconds to wait for memory", "proxy.memory_timeout_s"),
    Key("tools.modules", names, "modules or .py files whose tools a model may call"),
    Key("tools.weather.base-url", text, "a weather service like wttr.in; without it there is no tool for the weather"),
)

INDEX_KEYS: tuple[Key, ...] = (
    Key(INDEX, index_backend, "where rows are searched: local, or qdrant, which holds the vectors", "local"),
    Key(
        "memory.index.budget-mb",
        counting,
        "memory for indexes, in MiB; unless told an eighth of the machine's or container's, at least 1024",
        default_budget_mib(),
    ),
    Key(
        f"{QDRANT}url",
        text,
        "where that Qdrant is, as http://localhost:6333; or a folder for one process, or :memory:",
        None,
        ("QDRANT_URL",),
    ),
    Key(f"{QDRANT}collection", text, "the collection there, which is made when it is missing", "true_recall"),
    Key(f"{QDRANT}api-key", text, "the key that it is shown", None, ("QDRANT_API_KEY",), is_secret=True),
    Key(f"{QDRANT}options", table, "its own options, such as timeout_s and ef_search"),
)

CONTEXT_FROM_MEMORY = "agent.context_from_memory"
STORAGE = "tools.storage."
STORAGE_KEYS: tuple[Key, ...] = (
    Key(f"{STORAGE}default_backend", text, "which memory backend of four verbs is opened", BackendSettings().name),
    Key(f"{STORAGE}db_path", text, "the file of a backend that keeps its data in one"),
    Key(f"{STORAGE}context_top_k", counting, "passages that context injection asks for", BackendSettings().top_k),
    Key(
        f"{STORAGE}context_min_score",
        number,
        "lowest score of a passage; the default counts for cosines only",
        MIN_COSINE,
    ),
    Key(f"{STORAGE}context_max_tokens", whole, "tokens of all passages together", BackendSettings().max_tokens),
    Key(f"{STORAGE}chunk_size", counting, "tokens of a chunk of a long text", BackendSettings().chunk_size),
    Key(f"{STORAGE}chunk_overlap", whole, "tokens that two chunks share", BackendSettings().chunk_overlap),
)
"""The public memory primitive, in the words of the files that people bring along."""

KEYS: tuple[Key, ...] = (
    Key("store", text, "a path, sqlite:///path, postgresql://user:password@host/database or memory://"),
    Key("user", one_id, "whose memory it is where a command names nobody; a server's callers never get it"),
    Key(
        "embedder.name",
        names,
        "what turns texts into vectors, or a list of these, or none",
        "minilm",
        ("MNEMIC_EMBEDDER",),
    ),
    Key("embedder.options", table, "its own options, such as base_url; of several, a table for each name"),
    Key("embedder.writings", table, "which embedder is given only latin or only other letters"),
    Key("embedder.previous", text, "the embedder before it, searched until `mnemic reembed` has filled the new space"),
    Key("embedder.previous-options", table, "the options of that one"),
    Key(
        "reranker.name",
        text,
        "what judges the best hits again: none, maxsim, cross-encoder or llm",
        "none",
        ("MNEMIC_RERANKER",),
    ),
    Key("reranker.options", table, "its own options, such as model"),
    Key(
        "llm.name",
        text,
        "what writes summaries and their like: none, ollama:MODEL, openai or llama-cpp",
        "none",
        ("MNEMIC_LLM",),
    ),
    Key("llm.options", table, "its own options, such as base_url, model and api_key"),
    Key(CONTEXT_FROM_MEMORY, switch, "whether what is remembered is put in front of the model", default=True),
    Key("memory.embedding.model", text, "another way to say embedder.name"),
    Key("memory.embedding.dimensions", counting, "how long its vectors are; opening fails when they are not"),
    Key("memory.embedding.query-prefix", free_text, "what the embedder puts before a question"),
    Key("memory.storage.type", storage_type, "sqlite, postgresql or memory"),
    Key("memory.storage.url", text, "where the store is; another way to say store", None, ("PGVECTOR_URL",)),
    Key("memory.storage.username", text, "who logs in, where the url says nobody", None, ("PGVECTOR_USER",)),
    Key("memory.storage.password", text, "the password", None, ("PGVECTOR_PASSWORD",), is_secret=True),
    Key("memory.storage.lock-wait-s", positive, "seconds to wait for another writer", 10.0),
    *INDEX_KEYS,
    _number("memory.short-term.ttl-minutes", positive, "how long a session's memory lives", "session_memory_ttl_s", 60),
    _number("memory.short-term.max-memories", counting, "live memories that a session keeps", "max_session_memories"),
    _number(
        "memory.long-term.min-importance", fraction, "what a context takes of user and agent level", "min_importance"
    ),
    _number("memory.long-term.max-results", counting, "most memories of user and agent in a context", "max_results"),
    *LIFE_KEYS,
    *ASSISTANT_KEYS,
    _text("memory.knowledge.chunk-size", counting, "tokens of a passage of a document; 160 unless told", "chunk_size"),
    _text("memory.knowledge.overlap", whole, "tokens that two share; a quarter of it unless told", "chunk_overlap"),
    _number("recall.limit", counting, "most hits of a recall", "recall_limit"),
    _number("recall.hops", few, "relations of the graph that a question follows, 0 to 4", "recall_hops"),
    _number("recall.rerank-candidates", counting, "how many of the best hits a reranker judges", "rerank_candidates"),
    _number("recall.min-relevance", fraction, "how sure it must be that a hit fits the question", "min_relevance"),
    _number("recall.fallback-limit", whole, "most memories when nothing matched", "fallback_limit"),
    _number("recall.max-query-chars", counting, "longest question, in characters", "max_query_chars"),
    _number("context.budget-tokens", whole, "tokens that memory may add to a prompt", "context_tokens"),
    _number("context.history-messages", whole, "messages of the session that are shown", "window_messages"),
    _text("context.caps", caps, "what bounds memories beside the budget: budget (nothing), or levels", "caps"),
    *(
        Key(f"{LEVEL_LIMIT}{level.value}", whole, f"most of {level.value} level, where caps = levels", limit)
        for level, limit in Settings().level_limits.items()
    ),
    *STORAGE_KEYS,
    _text("guard.quarantine", quarantine, "memories kept from recall: off, untrusted or all", "quarantine"),
    _text("secrets.redaction", switch, "whether secrets are redacted before anything is stored", "redacts_secrets"),
    Key(SECRETS_PASSING, any_names, "kinds of secrets that are stored all the same, such as jwt", ""),
    Key("secrets.detector", text, "what finds them: rules, or the name that another package brings", "rules"),
    _number("audit.keep-days", positive, "days until an entry of the audit log is forgotten", "life.audit_days"),
    Key(KEYRING, text, "the file with the keys of sealed backups; where it is set, backups are sealed"),
    Key("backup.master-key", text, "what that file is encrypted with, of 16 characters or more", is_secret=True),
    Key("server.processes", counting, "processes that answer for `mnemic serve`", 1),
    Key("observability.traces", traces, "where traces go: off, or the address of an OTLP/HTTP collector", "off"),
    _number("limits.max-text-chars", counting, "longest text of a memory or message", "max_text_chars"),
    _number("limits.max-metadata-bytes", counting, "largest metadata, as JSON", "max_metadata_bytes"),
    _number("limits.max-file-mb", positive, "largest file that is read, in MiB", "max_file_bytes", MILLION_BYTES),
    _number("limits.read-timeout-s", positive, "seconds that reading a file may take", "read_timeout_s"),
)
"""Every key, in the order of the file that `mnemic init` writes."""

KEY_OF: Mapping[str, Key] = {key.path: key for key in KEYS}
OLD_SWITCHES = ("context_injection", *(f"{table}.context_injection" for table in ("agent", "memory", "tools.storage")))
"""Where `agent.context_from_memory` stood in older files."""

SPELLINGS: Mapping[str, str] = {
    **{key.path.replace(STORAGE, "memory."): key.path for key in STORAGE_KEYS},
    **{key.path.removeprefix("memory."): key.path for key in INDEX_KEYS},
    **dict.fromkeys(OLD_SWITCHES, CONTEXT_FROM_MEMORY),
}
"""Other places in a file where a key may stand, each with the key's own."""

LEVELS = tuple(Level)


def slips(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables `MNEMIC_…` that set nothing and look like one that does, with that one. Others are left alone: programs
    around Mnemic have variables of their own.
    """
    known = [name for key in KEYS for name in key.environment]
    unknown = [name for name in environment if name.startswith("MNEMIC_") and name not in {*known, *OTHER_VARIABLES}]
    near = {name: difflib.get_close_matches(name, known, n=1, cutoff=SLIP) for name in sorted(unknown)}
    return {name: found[0] for name, found in near.items() if found}
