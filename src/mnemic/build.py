"""The composition root: from a Config to the parts of an open Mnemic. The only place that names adapters."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mnemic.adapters.files import LocalFiles
from mnemic.adapters.indexes.base_files import BaseFiles, drop_bases
from mnemic.adapters.indexes.hnsw import GraphKeeper
from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.parsers import find_parser
from mnemic.adapters.windows.store import StoreWindow
from mnemic.config import Config
from mnemic.engine.access import claiming
from mnemic.engine.engine import Engine, ReaderPool, RetiredSpace, Traced
from mnemic.engine.indexing import owner_of, sides
from mnemic.errors import BackendError, ConfigError
from mnemic.ports.files import Archive, ClosableReader, Keyring
from mnemic.ports.index import Index, ServedIndex, Window
from mnemic.ports.models import Detector, Embedder, Llm, Reranker, Tool
from mnemic.ports.observer import Clock, Observer
from mnemic.ports.store import Reading, Store
from mnemic.text.analyser import Analyser
from mnemic.text.normalise import Writing
from mnemic.text.wordings import use_prompts

EXAMPLES = ("mnemic.examples.calculator", "mnemic.examples.units")
"""Example tools that need no setting. A model calculates and converts better with them than by itself."""

if TYPE_CHECKING:
    from mnemic.adapters.indexes.postgres_index import PostgresIndex
    from mnemic.adapters.indexes.qdrant import QdrantIndex
    from mnemic.model.backup import RescueReport

_log = logging.getLogger("mnemic")


class SystemClock:
    """The time of the machine."""

    def now(self) -> datetime:
        """With the time zone UTC."""
        return datetime.now(UTC)


_: type[Clock] = SystemClock


def build(config: Config) -> Engine:
    """The parts that `config` asks for. Raises `ConfigError` when it asks for something that is not there."""
    if config.prompts is not None:
        use_prompts(Path(config.prompts).expanduser())
    embedders = _embedders(config)
    main, *further = embedders.values() or [None]
    observer = _observer(config)
    llm = _llm(config)
    if llm is not None and config.traces != "off":
        llm = Traced(llm, observer)
    store = claiming(open_store(config))
    retired = _retired(config, store, embedders)
    spaces = [embedder.space.id for embedder in (*embedders.values(), *([retired.embedder] if retired else []))]
    index, served = _spaces(config, store, main, spaces)
    return Engine(
        store=store,
        index=index,
        served_index=served,
        embedder=main,
        clock=SystemClock(),
        observer=observer,
        reranker=_reranker(config, llm),
        llm=llm,
        parser=find_parser(),
        detector=_detector(config),
        window=_window(config, store, observer),
        further_embedders=tuple(embedder for embedder in further if embedder is not None),
        retired=retired,
        writings=_writings(config, embedders),
        files=LocalFiles(),
        readers=ReaderPool(_sandbox),
        settings=replace(config.settings, scales={**config.scales, **config.settings.scales}),
        tools=partial(_tools, config),
        database_lines=_database_lines,
        archive_texts=_archive_texts,
        keyring=open_keyring(config),
    )


def _database_lines(content: bytes) -> str:
    from mnemic.adapters.mem0_history import history_lines

    return history_lines(content)


def _archive_texts(content: bytes, name: str) -> Mapping[str, str]:
    from mnemic.adapters.chat_archives import archive_texts

    return archive_texts(content, name)


def archive(keyring: Keyring | None = None) -> Archive:
    """What makes and opens backup files; `keyring` has the keys of sealed ones."""
    from mnemic.adapters.archives.zipped import ZipArchive

    return ZipArchive(keyring)


def rescue_store(source: Path, target: Path) -> RescueReport:
    """Save what can be read of a damaged store in a file."""
    from mnemic.adapters.stores.sqlite.rescue import rescue

    return rescue(source, target)


@contextmanager
def _installed(package: str, extra: str) -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigError(f"{package} is missing ({error}); run `pip install 'mnemic[{extra}]'`") from error


def open_keyring(config: Config) -> Keyring | None:
    """The keys of sealed backups, None where none are made."""
    if config.backup_keyring is None:
        return None
    with _installed("a package for sealing", "sealed"):
        from mnemic.adapters.archives.keyring import FileKeyring
    return FileKeyring(config.backup_keyring, config.backup_master_key, lock_wait_s=config.lock_wait_s)


def _tools(config: Config) -> tuple[Tool, ...]:
    """The tools of other packages, of the examples and of named modules, and the weather where it is configured."""
    from mnemic.engine.tools.function import tool
    from mnemic.engine.tools.toolbox import find_tools

    found = find_tools((*EXAMPLES, *config.tool_modules))
    if config.weather_url is None:
        return found
    from mnemic.examples.weather import Weather

    return (tool(is_read_only=True)(Weather(config.weather_url).weather), *found)


def _detector(config: Config) -> Detector | None:
    """What finds secrets, None where they may stay. Raises `ConfigError` for a kind that it does not know."""
    if not config.settings.redacts_secrets:
        return None
    from mnemic.adapters.detectors.rules import open_detector

    detector = open_detector(config.detector)
    passing = config.settings.secrets_passing  # empty in most; then the forms of secrets are not read here
    if passing and (unknown := sorted(passing.difference(detector.capabilities.kinds))):
        near = get_close_matches(unknown[0], detector.capabilities.kinds, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(detector.capabilities.kinds)}"
        raise ConfigError(f"secrets.passing contains {unknown[0]!r}, which is not a kind of secret; {hint}")
    return detector


def _sandbox() -> ClosableReader:
    """A reader in a process of its own, which starts with the first file."""
    from mnemic.adapters.readers.sandbox import SandboxReader

    return SandboxReader()


def _observer(config: Config) -> Observer:
    counting = _counting(config)
    if config.traces == "off":
        return counting
    with _installed("a tracing package", "telemetry"):
        from mnemic.adapters.observers.opentelemetry import sending_to
    from mnemic.adapters.observers.counters import SeveralObservers

    return SeveralObservers([counting, sending_to(config.traces)])


def _counting(config: Config) -> Observer:
    if config.observer == "counter":
        return CounterObserver()
    from mnemic.adapters.observers.prometheus import PrometheusObserver

    return PrometheusObserver()


def _reranker(config: Config, llm: Llm | None) -> Reranker | None:
    if config.reranker == "none":
        return None
    if config.reranker == "llm":
        return _llm_reranker(config, llm)
    from mnemic.adapters.rerankers.registry import open_reranker

    return open_reranker(config.reranker, config.reranker_options)


def _llm_reranker(config: Config, llm: Llm | None) -> Reranker:
    from mnemic.adapters.rerankers.registry import LlmReranker

    if llm is None:
        raise ConfigError("reranker 'llm' requires a language model; set llm.name")
    try:
        return LlmReranker(llm, **cast("Mapping[str, Any]", config.reranker_options))
    except TypeError as error:
        raise ConfigError(f"reranker 'llm' does not accept these options: {error}") from error


def _llm(config: Config) -> Llm | None:
    if config.llm == "none":
        return None
    from mnemic.adapters.llms.registry import open_llm

    return open_llm(config.llm, config.llm_options)


def open_store(config: Config) -> Store:
    """Open the configured store."""
    if config.postgres_url is not None:
        return _postgres(config.postgres_url, config)
    path = config.sqlite_path
    if path is None:
        from mnemic.adapters.stores.memory import MemoryStore

        return MemoryStore()
    from mnemic.adapters.stores.sqlite import SqliteStore

    store = SqliteStore(path, lock_wait_s=config.lock_wait_s)
    folder = path.with_name(f"{path.name}.index") / "bases"
    store.on_erased = lambda erased: drop_bases(folder, [sides([owner])[is_chunk] for owner, is_chunk in erased])
    return store


def _postgres(url: str, config: Config) -> Store:
    with _installed("a PostgreSQL driver", "postgres"):
        from mnemic.adapters.stores.postgres import PostgresStore
    return PostgresStore(url, lock_wait_s=config.lock_wait_s)


def _window(config: Config, store: Store, observer: Observer) -> Window:
    life = config.settings.life
    if config.window == "store":
        return StoreWindow(store, ttl_s=life.window_ttl_s)
    if config.window_url is None:
        raise ConfigError("memory.window.backend is redis; set memory.window.url, or REDIS_URL in the environment")
    with _installed("the Redis driver", "redis"):
        from mnemic.adapters.windows.redis import RedisOptions, RedisWindow
    try:
        options = RedisOptions(**cast("Mapping[str, Any]", config.window_options))
    except TypeError as error:
        raise ConfigError(f"memory.window.options: Redis does not accept these options: {error}") from error
    return RedisWindow(
        store, config.window_url, observer=observer, ttl_s=life.window_ttl_s, most=life.window_messages, options=options
    )


def _spaces(
    config: Config, store: Store, main: Embedder | None, spaces: Sequence[str]
) -> tuple[Index, ServedIndex | None]:
    """The index of the first space, and beside it one for each further space, within one budget; and the service that
    holds the rows of the first, where one does.
    """
    first, *further = spaces or [None]
    share = config.index_budget_bytes // (len(further) + 1)
    served = _qdrant(config, store, main) if config.index == "qdrant" else None
    bound = config.database_rows
    database = _postgres_index(config.postgres_url, config, spaces) if bound is not None and served is None else None
    if database is not None and not bound:
        return database, database
    index = served or _index(replace(config, index_budget_bytes=share), _base_files(config, store, first))
    whole: Index = index
    if further:
        from mnemic.adapters.indexes.tiered import SpacesIndex

        beside = [None if served else _base_files(config, store, space, has_terms=False) for space in further]
        whole = SpacesIndex(index, [ScanIndex(budget_bytes=share, bases=bases) for bases in beside])
    if database is None or bound is None or not isinstance(index, ScanIndex):
        return whole, served
    from mnemic.adapters.indexes.bounded import BoundedIndex

    bounded = BoundedIndex(whole, database, bound, index.rows)
    return bounded, bounded


def _postgres_index(url: str | None, config: Config, spaces: Sequence[str]) -> PostgresIndex | None:
    """The index in PostgreSQL. None if the store is elsewhere."""
    if url is None:
        return None
    from mnemic.adapters.indexes.postgres_index import open_postgres_index

    return open_postgres_index(url, spaces, config.lock_wait_s, owner_of)


def _base_files(config: Config, store: Store, space: str | None, *, has_terms: bool = True) -> BaseFiles | None:
    """The base files of a vector space. None on Windows, which cannot remove a mapped file."""
    folder = _index_folder(config)
    if folder is None or not config.base_files or sys.platform == "win32":
        return None
    return BaseFiles(folder / "bases", store, Reading(space, Analyser().name), owner_of=owner_of, has_terms=has_terms)


def _qdrant(config: Config, store: Store, embedder: Embedder | None) -> QdrantIndex:
    if config.qdrant_url is None:
        raise ConfigError(
            "memory.index.backend is qdrant; set memory.index.qdrant.url, or QDRANT_URL in the environment"
        )
    if embedder is None:
        raise ConfigError("memory.index.backend is qdrant, which requires an embedder; set embedder.name")
    with _installed("the Qdrant client", "qdrant"):
        from mnemic.adapters.indexes.qdrant import QdrantCollection, open_qdrant
    asked = QdrantCollection(config.qdrant_url, config.qdrant_collection, config.qdrant_api_key, config.qdrant_options)
    return open_qdrant(store, embedder.space, asked, _index_folder(config))


def _index_folder(config: Config) -> Path | None:
    """The folder beside a store in a file, None for another kind."""
    path = config.sqlite_path
    return None if path is None else path.with_name(f"{path.name}.index")


def _index(config: Config, bases: BaseFiles | None) -> Index:
    """All in memory; a store in a file has room beside it for what large partitions need."""
    folder, settings = _index_folder(config), config.settings
    scan = ScanIndex(
        budget_bytes=config.index_budget_bytes,
        exact_rows=settings.exact_partition_rows,
        keyword_rows=settings.keyword_candidates,
        graphs=GraphKeeper(None if folder is None else folder / "graphs"),
        bases=bases,
    )
    if folder is None:
        return scan
    from mnemic.adapters.indexes.fts5 import Fts5Index
    from mnemic.adapters.indexes.tiered import TieredIndex

    words = Fts5Index(folder / "fts5.db", analyser=Analyser().name)
    return TieredIndex(scan, words, threshold_rows=config.settings.large_partition_rows)


def _embedders(config: Config) -> dict[str, Embedder]:
    """The embedders by name, the main one first. Raises `ConfigError` when two of them fill one space."""
    names = config.embedders
    unknown = [name for name in config.embedder_writings if name not in names]
    if unknown:
        raise ConfigError(
            f"embedder.writings contains {unknown[0]!r}, which is not one of the embedders {', '.join(names) or 'none'}"
        )
    with ExitStack() as opened:
        embedders: dict[str, Embedder] = {}
        for name in names:
            embedder = embedders[name] = _embedder(config, name, _options(config, name))
            opened.callback(embedder.close)
        if len({embedder.space.id for embedder in embedders.values()}) < len(names):
            raise ConfigError(f"two of the embedders {', '.join(names)} use the same model; list each model once")
        opened.pop_all()
    return embedders


def _retired(config: Config, store: Store, embedders: Mapping[str, Embedder]) -> RetiredSpace | None:
    """The space of the embedder before, where the store has vectors of it: of the one that is named, else of minilm as
    it comes. None other is opened, so that a store never says where questions are sent.
    """
    if not embedders or not store.capabilities.is_durable:
        return None
    with store.read() as work:
        left = work.vectors.known().difference(embedder.space.id for embedder in embedders.values())
    if not left:
        return None
    name = config.embedder_previous or "minilm"
    try:
        embedder = _embedder(replace(config, embedder_dims=None), name, config.embedder_previous_options)
    except ConfigError as error:
        _log.warning("the previous embedder, %s, cannot be opened (%s); its vectors are not searched", name, error)
        return None
    if embedder.space.id in left:
        return RetiredSpace(embedder)
    embedder.close()
    return None


def _options(config: Config, name: str) -> Mapping[str, object]:
    """The options of one embedder; of several, they stand under their names."""
    if len(config.embedders) == 1:
        return config.embedder_options
    for key, options in config.embedder_options.items():
        if key not in config.embedders or not isinstance(options, Mapping):
            raise ConfigError(f"with several embedders, embedder.options must have a table for each one, not {key!r}")
    return cast("Mapping[str, object]", config.embedder_options.get(name, {}))


def _writings(config: Config, embedders: Mapping[str, Embedder]) -> dict[str, frozenset[Writing]]:
    """By space, the writings that its embedder is given."""
    try:
        return {
            embedders[name].space.id: frozenset(Writing(each) for each in writings)
            for name, writings in config.embedder_writings.items()
        }
    except ValueError as error:
        raise ConfigError(f"embedder.writings must contain only {', '.join(Writing)} ({error})") from error


def _embedder(config: Config, name: str, options: Mapping[str, object]) -> Embedder:
    """One embedder. Its space is asked for now, so that a server that is down is an error of opening."""
    from mnemic.adapters.embedders.registry import open_embedder

    embedder = open_embedder(name, options)
    try:
        dims = embedder.space.dims
    except BackendError as error:
        embedder.close()
        raise ConfigError(f"{error}; to open the store without the embedder, set its option dims") from error
    if config.embedder_dims not in (None, dims):
        embedder.close()
        raise ConfigError(
            f"{name} returns vectors with {dims} dimensions, but memory.embedding.dimensions is {config.embedder_dims}"
        )
    return embedder
