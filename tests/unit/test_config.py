"""Configuration: argument, environment, file, default, in this order; and errors that say what to change."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config, load_config, resolve
from mnemic.config.keys import KEYS
from mnemic.config.resolution import first_file
from mnemic.errors import ConfigError
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.model.settings import LifeSettings, ProxySettings, Settings

BGE_PREFIX = "Represent this sentence for searching relevant passages: "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mnemic" / "config.toml"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


def write(file: Path, content: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(content, encoding="utf-8")


def origin(key: str, environment: dict[str, str], store: str | None = None) -> tuple[object, str]:
    (value,) = (value for value in resolve(store, environment=environment).values if value.key == key)
    return value.shown, value.origin


class TestOrder:
    def test_without_anything_the_defaults_count(self, environment: dict[str, str], tmp_path: Path):
        config = load_config(environment=environment)
        assert config == Config(store=str(tmp_path / "data" / "mnemic" / "memory.db"))
        assert resolve(environment=environment).file is None

    def test_each_place_wins_over_the_one_below_it(self, file: Path, environment: dict[str, str]):
        assert origin("store", environment)[1] == "default"
        write(file, 'store = "memory.db"\n[recall]\nlimit = 7\n')
        assert origin("store", environment) == (str(file.parent / "memory.db"), f"file {file}")
        assert origin("recall.limit", environment) == (7, f"file {file}")
        environment |= {"MNEMIC_STORE": "memory://", "MNEMIC_RECALL_LIMIT": "9"}
        assert origin("store", environment) == ("memory://", "environment MNEMIC_STORE")
        assert origin("recall.limit", environment) == (9, "environment MNEMIC_RECALL_LIMIT")
        assert origin("store", environment, "other.db") == ("other.db", "argument")

    def test_whose_memory_it_is_comes_from_the_environment_before_the_file(
        self, file: Path, environment: dict[str, str]
    ):
        assert load_config(environment=environment).user is None
        write(file, 'user = "ana"\n')
        assert load_config(environment=environment).user == "ana"
        assert origin("user", environment | {"MNEMIC_USER": "42"}) == ("42", "environment MNEMIC_USER")

    @pytest.mark.parametrize("told", ['""', '" ana"', "7", r'"a\u0007"', '"' + "a" * 256 + '"'])
    def test_a_user_that_cannot_be_one_is_refused_with_the_place(
        self, file: Path, environment: dict[str, str], told: str
    ):
        write(file, f"user = {told}\n")
        with pytest.raises(ConfigError, match=r"user must be .* \(file .*config.toml\)"):
            load_config(environment=environment)

    def test_a_file_is_named_by_argument_else_by_environment_else_it_is_the_users_own(
        self, file: Path, environment: dict[str, str], tmp_path: Path
    ):
        for number, path in enumerate((file, tmp_path / "b.toml", tmp_path / "c.toml"), start=1):
            write(path, f"recall = {{ limit = {number} }}")
        assert load_config(environment=environment).settings.recall_limit == 1
        environment["MNEMIC_CONFIG"] = str(tmp_path / "b.toml")
        assert load_config(environment=environment).settings.recall_limit == 2
        assert load_config(file=tmp_path / "c.toml", environment=environment).settings.recall_limit == 3

    def test_a_file_that_was_named_must_be_there(self, environment: dict[str, str], tmp_path: Path):
        with pytest.raises(ConfigError, match="mnemic init"):
            load_config(file=tmp_path / "gone.toml", environment=environment)
        with pytest.raises(ConfigError, match="named by MNEMIC_CONFIG"):
            load_config(environment=environment | {"MNEMIC_CONFIG": str(tmp_path / "gone.toml")})

    def test_an_open_memory_takes_the_same_values(
        self, file: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("MNEMIC_STORE", raising=False)
        write(file, 'store = "own.db"\nembedder.name = "none"\n[recall]\nlimit = 2\n')
        with Mnemic.open() as mnemic:
            mnemic.remember_many(Scope(user="ana"), ["tea one", "tea two", "tea three"])
            assert len(mnemic.recall(Scope(user="ana"), "tea")) == 2
            assert mnemic.recall(Scope(user="ana"), "tea").hits[0].similarity is None
        assert (file.parent / "own.db").is_file()
        with Mnemic.open(Config(store="memory://", embedder="none")) as mnemic:  # a Config is taken as it is
            mnemic.remember_many(Scope(user="ana"), ["tea one", "tea two", "tea three"])
            assert len(mnemic.recall(Scope(user="ana"), "tea")) == 3


class TestSections:
    def test_the_sqlite_name_for_memory_makes_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        file = tmp_path / "config.toml"
        file.write_text('store = ":memory:"\n[embedder]\nname = "none"\n', encoding="utf-8")
        for config in (Config(store=":memory:", embedder="none"), load_config(file=file, environment={})):
            with Mnemic.open(config) as mnemic:
                mnemic.remember(Scope(user="ana"), "I live in Oslo")
        assert [path.name for path in tmp_path.iterdir()] == [file.name]

    @pytest.mark.requirement("N-35")
    def test_the_model_its_dimensions_and_its_query_prefix(self, file: Path, environment: dict[str, str]):
        write(
            file,
            'store = "memory://"\n[memory.embedding]\nmodel = "bge-small-en-v1.5-q"\ndimensions = 384\n'
            f'query-prefix = "{BGE_PREFIX}"\n',
        )
        embedder = build(load_config(environment=environment)).embedder
        assert embedder is not None
        assert "bge-small-en-v1.5" in embedder.space.model
        assert (embedder.space.dims, embedder.space.query_prefix) == (384, BGE_PREFIX)

    def test_other_dimensions_than_the_models_are_refused(self, file: Path, environment: dict[str, str]):
        write(file, 'store = "memory://"\n[memory.embedding]\nmodel = "minilm"\ndimensions = 768\n')
        with pytest.raises(ConfigError, match=r"384 dimensions, but memory\.embedding\.dimensions is 768"):
            build(load_config(environment=environment))

    def test_a_server_is_told_its_dims(self, file: Path, environment: dict[str, str]):
        write(file, '[memory.embedding]\nmodel = "nomic-embed-text"\ndimensions = 768\n')
        config = load_config(environment=environment)
        assert (config.embedder, config.embedder_options) == ("nomic-embed-text", {"dims": 768})

    @pytest.mark.requirement("N-36")
    def test_the_storage_and_its_login_from_the_environment(self, file: Path, environment: dict[str, str]):
        write(
            file,
            '[memory.storage]\ntype = "postgresql"\nurl = "postgresql://db:5432/mnemic"\n'
            'username = "u"\npassword = "p"\n',
        )
        assert load_config(environment=environment).store == "postgresql://u:p@db:5432/mnemic"
        environment |= {"PGVECTOR_USER": "eve", "PGVECTOR_PASSWORD": "a/b"}
        assert load_config(environment=environment).store == "postgresql://eve:a%2Fb@db:5432/mnemic"
        environment["PGVECTOR_URL"] = "jdbc:postgresql://other/x"
        assert load_config(environment=environment).store == "postgresql://eve:a%2Fb@other/x"
        shown = [str(value.shown) for value in resolve(environment=environment).values]
        assert not any("a/b" in text or "a%2Fb" in text for text in shown)
        assert load_config("memory://", environment=environment).store == "memory://"

    @pytest.mark.parametrize(
        "content, told",
        [
            ('[memory.storage]\ntype = "postgresql"', "PGVECTOR_URL"),
            ('[memory.storage]\ntype = "postgresql"\nurl = "a.db"', "is postgresql, but"),
            ('[memory.storage]\ntype = "sqlite"\nurl = "postgresql://u:secret@db/x"', "is sqlite, but"),
            ('store = "a.db"\n[memory.storage]\nurl = "b.db"', "keep only one of them"),
            ('store = "a.db"\n[memory.storage]\ntype = "sqlite"', "keep only one of them"),
            ('embedder.name = "none"\n[memory.embedding]\nmodel = "minilm"', "keep only one of them"),
        ],
    )
    def test_what_contradicts_itself_is_refused(self, file: Path, environment: dict[str, str], content: str, told: str):
        write(file, content)
        with pytest.raises(ConfigError, match=told) as refused:
            load_config(environment=environment)
        assert "secret" not in str(refused.value)

    def test_a_storage_in_memory_or_in_a_file(self, file: Path, environment: dict[str, str]):
        write(file, '[memory.storage]\ntype = "memory"')
        assert load_config(environment=environment).store == "memory://"
        write(file, '[memory.storage]\ntype = "sqlite"\nurl = "~/x.db"')
        assert load_config(environment=environment).store == str(Path("~/x.db").expanduser())

    @pytest.mark.requirement("N-37", "N-38")
    def test_numbers_of_short_and_long_term_memory(self, file: Path, environment: dict[str, str]):
        defaults = load_config(environment=environment).settings
        assert (defaults.session_memory_ttl_s, defaults.max_session_memories) == (3600.0, 100)
        assert (defaults.min_importance, defaults.max_results) == (0.5, 10)
        write(
            file,
            "[memory.short-term]\nttl-minutes = 5\nmax-memories = 3\n"
            "[memory.long-term]\nmin-importance = 0.25\nmax-results = 2\n[context.level-limits]\nuser = 1\n",
        )
        settings = load_config(environment=environment).settings
        assert (settings.session_memory_ttl_s, settings.max_session_memories) == (300.0, 3)
        assert (settings.min_importance, settings.max_results) == (0.25, 2)
        assert settings.level_limits == Settings().level_limits | {Level.USER: 1}

    @pytest.mark.requirement("N-38")
    def test_a_context_takes_what_is_important_enough_and_no_more_than_the_limit(self, environment: dict[str, str]):
        environment |= {
            "MNEMIC_STORE": "memory://",
            "MNEMIC_MEMORY_LONG_TERM_MIN_IMPORTANCE": "0.4",
            "MNEMIC_MEMORY_LONG_TERM_MAX_RESULTS": "2",
            "MNEMIC_CONTEXT_CAPS": "levels",
        }
        scope = Scope(user="ana")
        with Mnemic.open(load_config(environment=environment)) as mnemic:
            importance = {"tea one": 0.3, "tea two": 0.4, "tea three": 0.5, "tea four": 0.6}
            mnemic.remember_many(scope, [{"text": t, "importance": i} for t, i in importance.items()])
            context = mnemic.context(scope, "tea")
        assert len(context.recall.hits) == 2
        assert "tea one" not in {hit.text for hit in context.recall.hits}

    @pytest.mark.requirement("N-39", "R-01", "R-39")
    def test_how_documents_are_cut(self, file: Path, environment: dict[str, str], tmp_path: Path):
        sentence = "This sentence has ten words and it ends right here. "
        (tmp_path / "long.txt").write_text(sentence * 120, encoding="utf-8")
        sizes = {"": [160, 40], "chunk-size = 512\noverlap = 50": [512, 50], "chunk-size = 80": [80, 20]}
        for keys, (size, overlap) in sizes.items():
            write(file, f'store = "memory://"\nembedder.name = "none"\n[memory.knowledge]\n{keys}\n')
            with Mnemic.open(load_config(file=file, environment=environment)) as mnemic:
                scope = Scope(user="ana")
                mnemic.ingest(scope, tmp_path / "long.txt")
                (document,) = mnemic.documents.list(scope).documents
                first, second = mnemic.documents.passages(scope, document.id)[:2]
            words = len(first.text.split())
            assert size - 10 < words <= size
            assert words - second.start / len(sentence) * 10 == overlap
        write(file, "[memory.knowledge]\nchunk-size = 50\noverlap = 50")
        with pytest.raises(ConfigError, match=r"chunk-size \(file.*overlap.*below chunk_size, 50"):
            load_config(environment=environment)


class TestErrors:
    @pytest.mark.parametrize(
        "content, told",
        [
            ("[recal]\nlimit = 3", r"recal is not a known key; did you mean recall\?"),
            ("[recall]\nlimits = 3", r"recall.limits is not a known key; did you mean recall.limit\?"),
            ("[memory.short-term]\nttl_minutes = 3", r"did you mean memory.short-term.ttl-minutes\?"),
            ("flavour = 3", "mnemic config show"),
            ("recall = 3", r"recall must be a table.*as \[recall\]"),
            ("[recall]\nlimit = 0", "recall.limit must be a whole number from 1, not 0"),
            ("[recall]\nlimit = true", "recall.limit must be a whole number from 1, not True"),
            ("[context]\nbudget-tokens = -1", "whole number from 0"),
            ("[memory.short-term]\nttl-minutes = inf", "a number above 0"),
            ("[memory.long-term]\nmin-importance = 2", "a number from 0 to 1"),
            ("[embedder]\noptions = 3", "a table of keys and values"),
            ("[memory.storage]\ntype = 'oracle'", "one of sqlite, postgresql, memory"),
            ("store = ''", "store must be text"),
            ("[memory.embedding]\nquery-prefix = 3", "must be text"),
            ("[recall]\nlimit = \n# end", "line 2"),
            ("a" * 5 + "=" + "[" * 20_000, "is not TOML"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_place(
        self, file: Path, environment: dict[str, str], content: str, told: str
    ):
        write(file, content)
        with pytest.raises(ConfigError, match=told) as refused:
            load_config(environment=environment)
        assert str(file) in str(refused.value)

    def test_bytes_that_are_no_text_are_refused_and_a_mark_at_the_start_is_none(
        self, file: Path, environment: dict[str, str]
    ):
        write(file, "")
        file.write_bytes(b"\xef\xbb\xbf[recall]\nlimit = 4\n")
        assert load_config(environment=environment).settings.recall_limit == 4
        file.write_bytes(b"# caf\xe9\n")
        with pytest.raises(ConfigError, match="not UTF-8"):
            load_config(environment=environment)

    def test_a_wrong_variable_is_named(self, environment: dict[str, str]):
        with pytest.raises(ConfigError, match="environment MNEMIC_RECALL_LIMIT"):
            load_config(environment=environment | {"MNEMIC_RECALL_LIMIT": "many"})

    def test_an_empty_variable_counts_as_absent(self, environment: dict[str, str]):
        assert load_config(environment=environment | {"MNEMIC_RECALL_LIMIT": ""}).settings.recall_limit == 5


class TestSecrets:
    def test_no_secret_is_shown(self, environment: dict[str, str]):
        environment |= {
            "MNEMIC_STORE": "postgresql://ana:hunter2@db/x",
            "MNEMIC_EMBEDDER_OPTIONS": '{"api_key": "hunter2", "base_url": "http://localhost:1234/v1"}',
            "MNEMIC_MEMORY_STORAGE_PASSWORD": "hunter2",
        }
        effective = resolve(environment=environment)
        shown = {value.key: value.shown for value in effective.values}
        assert shown["store"] == "postgresql://ana:***@db/x"
        assert shown["embedder.options"] == {"api_key": "***", "base_url": "http://localhost:1234/v1"}
        assert "hunter2" not in f"{shown} {effective!r}"


class TestFirstFile:
    def test_it_says_every_key_and_changes_nothing(self, file: Path, environment: dict[str, str]):
        write(file, first_file())
        assert load_config(environment=environment) == load_config(environment={**environment, "XDG_CONFIG_HOME": "/x"})
        assert all(key.about in first_file() for key in KEYS)

    def test_what_it_has_commented_out_is_valid(self, file: Path, environment: dict[str, str]):
        lines = [line.removeprefix("# ") for line in first_file().splitlines()[1:]]
        tomllib.loads("\n".join(lines))
        one_of = (
            *("model", "url", "type", "username", "password", "options", "dimensions", "query-prefix"),
            *("chunk-size", "overlap"),  # of documents: unless told, what was measured
            *("upstream", "api-key", "anthropic-"),  # of the proxy: none unless told
            *("issuer", "jwks-url", "audience"),  # of OAuth: none unless told
            "min-relevance",  # unless told, contexts judge whether to be silent
            "ttl-days",  # of a profile: none unless told
            "database-rows",  # of PostgreSQL: none unless told
        )
        write(file, "\n".join(line for line in lines if not line.startswith(one_of)))
        assert load_config(environment=environment).settings == Settings()


class TestDoors:
    def test_the_proxy_the_assistant_and_tools_are_set_by_their_names(self, file: Path, environment: dict[str, str]):
        write(
            file,
            """
            [proxy]
            upstream = "http://localhost:8000/v1"
            api-key = "a secret"
            memory-timeout-s = 0.5
            [assistant]
            max-tool-calls = 3
            [tools]
            modules = ["one.tools", "two.tools"]
            [tools.weather]
            base-url = "http://localhost:9000"
            [agent]
            context_from_memory = false
            """,
        )
        config = load_config(environment=environment | {"MNEMIC_PROXY_USER": "ana"})
        proxy = ProxySettings("http://localhost:8000/v1", "a secret", "ana", 0.5, injects_context=False)
        assert (config.settings.proxy, config.settings.assistant.max_tool_calls) == (proxy, 3)
        assert (config.tool_modules, config.weather_url) == (("one.tools", "two.tools"), "http://localhost:9000")
        shown = {value.key: value.shown for value in resolve(environment=environment).values}
        assert shown["proxy.api-key"] == "***"


class TestLife:
    @pytest.mark.requirement("D-47", "D-48", "D-49", "D-50")
    @pytest.mark.parametrize("prefix", ["", "app."])
    def test_the_numbers_of_upkeep_are_set_by_their_names_with_and_without_app(
        self, prefix: str, file: Path, environment: dict[str, str]
    ):
        sections = {
            "summary": "batch-size = 7",
            "consolidation": "reflection-threshold = 4",
            "eviction": 'cron = "0 30 4 * * ?"\nimportance-threshold = 0.2\nmax-age-days = 90',
            "reflection": "episode-threshold = 6",
        }
        write(file, "\n".join(f"[{prefix}memory.{name}]\n{keys}" for name, keys in sections.items()))
        assert load_config(environment=environment).settings.life == LifeSettings(
            summary_batch=7,
            reflection_threshold=4,
            reflection_episodes=6,
            evict_cron="0 30 4 * * ?",
            evict_below=0.2,
            evict_after_days=90,
        )
        assert origin("memory.summary.batch-size", environment) == (7, f"file {file}")

    @pytest.mark.requirement("D-47", "D-48", "D-49", "D-50")
    def test_without_anything_they_are_those_of_the_origin(self, environment: dict[str, str]):
        life = load_config(environment=environment).settings.life
        assert (life.summary_batch, life.reflection_threshold, life.reflection_episodes) == (5, 10, 10)
        assert (life.evict_cron, life.evict_below, life.evict_after_days) == ("0 0 3 * * ?", 0.1, 180)

    def test_a_key_that_is_written_with_and_without_app_is_refused(self, file: Path, environment: dict[str, str]):
        write(file, "memory.summary.batch-size = 3\n[app.memory.summary]\nbatch-size = 4\n")
        with pytest.raises(ConfigError, match=r"memory\.summary\.batch-size and app\.memory"):
            load_config(environment=environment)
        write(file, "app = 3")
        with pytest.raises(ConfigError, match="app is not a known key"):
            load_config(environment=environment)

    def test_units_kinds_and_the_environment(self, file: Path, environment: dict[str, str]):
        write(file, "[memory.window]\nttl-minutes = 2\n[memory.decay]\nhalf-lives = { event = 3 }\n")
        environment["MNEMIC_MEMORY_SCHEDULE_TIME_ZONE"] = "Asia/Tokyo"
        environment["MNEMIC_MEMORY_EVICTION_CRON"] = "5 4 * * *"
        life = load_config(environment=environment).settings.life
        assert (life.window_ttl_s, life.time_zone, life.evict_cron) == (120, "Asia/Tokyo", "5 4 * * *")
        assert (life.half_lives[Kind.EVENT], life.half_lives[Kind.STATE]) == (3, 7)

    @pytest.mark.requirement("R-11")
    @pytest.mark.parametrize(
        "line, told",
        [
            ('schedule.time-zone = "Europe/Berlim"', "did you mean Europe/Berlin"),
            ('eviction.cron = "at three"', "six with seconds first"),
            ("eviction.cron = 3", "six with seconds first"),
            ("decay.half-lives = { facts = 3 }", "keys are memory kinds"),
            ("decay.half-lives = { fact = 0 }", "positive numbers of days"),
            ("summary.batch-size = 0", "whole number from 1"),
        ],
    )
    def test_what_cannot_be_is_refused_with_what_can(
        self, line: str, told: str, file: Path, environment: dict[str, str]
    ):
        write(file, f"memory.{line}")
        with pytest.raises(ConfigError, match=told):
            load_config(environment=environment)
