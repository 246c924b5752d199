"""The table of verbs and doors says what is so: compared with the library, the commands, the routes and the tools."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from mnemic import AsyncMnemic, Mnemic
from mnemic.api import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs, ToolVerbs
from mnemic.api.signatures import documentation_of, parameters_of
from mnemic.api.views import DocumentView, GraphView, JobView, KeyView, ProfileView, ScopedMnemic, ToolView
from mnemic.cli.app import application
from mnemic.mcp.verbs import verb_tools
from mnemic.model.item import MemoryDraft
from mnemic.remote import RemoteMnemic
from mnemic.remote.client import RemoteDocuments, RemoteGraph, RemoteJobs, RemoteKeys, RemoteProfile, RemoteTools
from mnemic.verbs import ALIASES, CLI, DOORS, MCP, REMOTE, REST, ROUTES, VERBS
from scripts.verbs_reference import OTHER_COMMANDS
from tests.doors.doors import COMMANDS
from tests.doors.http_doors import Served
from tests.doors.test_async import verbs

NO_VERBS = {"open", "close", "for_user"}
"""How a Mnemic begins and ends, and how a scope is bound."""

REFUSED = {"worker", "tools.add", "restore"}
"""Verbs that the remote client names only to say why they are not there."""

LIBRARY_PARTS: dict[str, type] = {
    "": Mnemic,
    "profile.": ProfileVerbs,
    "jobs.": JobVerbs,
    "keys.": KeyVerbs,
    "documents.": DocumentVerbs,
    "graph.": GraphVerbs,
    "tools.": ToolVerbs,
}
ASYNC_PARTS: dict[str, type] = {
    "": AsyncMnemic,
    "profile.": ProfileView,
    "jobs.": JobView,
    "keys.": KeyView,
    "documents.": DocumentView,
    "graph.": GraphView,
    "tools.": ToolView,
}
SCOPED_PARTS: dict[str, type] = {**ASYNC_PARTS, "": ScopedMnemic}
REMOTE_PARTS: dict[str, type] = {
    "": RemoteMnemic,
    "profile.": RemoteProfile,
    "jobs.": RemoteJobs,
    "keys.": RemoteKeys,
    "documents.": RemoteDocuments,
    "graph.": RemoteGraph,
    "tools.": RemoteTools,
}


def names(parts: dict[str, type]) -> set[str]:
    return {f"{group}{name}" for group, kind in parts.items() for name in verbs(kind)} - NO_VERBS - ALIASES.keys()


def offered(door: str) -> set[str]:
    return {verb.name for verb in VERBS if verb.is_offered(door)}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that does something by itself."""
    below = getattr(command, "commands", {})
    if path and (not below or getattr(command, "invoke_without_command", False)):
        yield " ".join(path)
    for name, each in below.items():
        yield from commands(each, (*path, name))


@pytest.mark.requirement("P-01")
class TestTheTable:
    def test_every_verb_of_the_library_is_in_it_once(self):
        assert sorted(verb.name for verb in VERBS) == sorted(names(LIBRARY_PARTS))

    def test_the_library_for_asyncio_has_the_same(self):
        assert names(ASYNC_PARTS) == names(LIBRARY_PARTS)

    def test_a_scope_can_be_bound_to_every_verb_that_takes_one(self):
        scoped = {verb.name for verb in VERBS if "scope" in parameters_of(verb.name)}
        assert names(SCOPED_PARTS) == scoped | {"tools.list", "tools.add"}

    def test_american_spellings_are_the_same_verbs_everywhere(self):
        for parts in (LIBRARY_PARTS, ASYNC_PARTS, SCOPED_PARTS, REMOTE_PARTS):
            named = {f"{group}{name}": verb for group, kind in parts.items() for name, verb in verbs(kind).items()}
            for alias, name in ALIASES.items():
                assert inspect.signature(named[alias]) == inspect.signature(named[name])
                assert named[alias].__doc__ == named[name].__doc__

    def test_a_gap_names_a_door_and_a_reason(self):
        assert all(door in DOORS and reason for verb in VERBS for door, reason in verb.gaps.items())
        assert {verb.name for verb in VERBS if verb.command} == offered(CLI)
        assert {verb.name for verb in VERBS if verb.tool} == offered(MCP)

    def test_the_commands_are_those_of_the_command_line(self):
        found = set(commands(typer.main.get_command(application())))
        assert {verb.command for verb in VERBS if verb.command} | set(OTHER_COMMANDS) == found
        assert all(" ".join(words).removesuffix(" --yes") in found for words in COMMANDS.values())

    def test_the_routes_are_those_of_rest(self, tmp_path: Path):
        served = Served(str(tmp_path / "memory.db"))
        described = served.app_description()["paths"].values()
        served.close()
        named = {each["operationId"] for path in described for each in path.values()}
        assert offered(REST) == set(ROUTES)
        assert named == {verb.replace(".", "_") for verb in ROUTES}

    def test_the_remote_client_has_what_rest_has(self):
        assert names(REMOTE_PARTS) - REFUSED == offered(REMOTE) == offered(REST)

    def test_the_tools_are_those_of_mcp(self):
        with Mnemic.open("memory://") as mnemic:
            own = {each.spec.name for each in verb_tools(mnemic)}
            every = own | {each.spec.name for each in mnemic.tools.toolbox}
        tools = {verb.tool for verb in VERBS if verb.tool}
        assert own <= tools <= every


def options(verb: str) -> dict[str, tuple[object, object]]:
    """The options of a verb, with their defaults and types."""
    found = parameters_of(verb).values()
    return {each.name: (each.default, each.annotation) for each in found if each.kind is each.KEYWORD_ONLY}


@pytest.mark.requirement("P-01")
class TestSignatures:
    def test_verbs_that_ask_take_the_same_conditions(self):
        assert options("why_not") == options("recall")
        conditions = {name: told for name, told in options("context").items() if name != "is_dry_run"}
        assert options("ask") == conditions
        assert options("chat_stream") == options("chat")
        assert conditions.items() <= options("chat").items()
        apart = {"levels", "kinds", "limit", "limits"}  # a context has caps of its own
        assert {name: told for name, told in options("recall").items() if name not in apart}.items() <= options(
            "context"
        ).items()

    def test_a_memory_has_the_same_defaults_as_a_draft(self):
        draft = MemoryDraft(text="Ana sails")
        for name, (default, _) in options("remember").items():
            assert default == getattr(draft, name) or (name == "metadata" and default is None)
        assert set(options("update")) - {"reason"} == set(options("remember")) - {
            "key",
            "level",
            "is_private",
            "is_pinned",
        } | {"text"}

    @pytest.mark.parametrize("verb", [verb.name for verb in VERBS if verb.name != "tools.add"])
    def test_every_option_is_visible_and_explained(self, verb: str):
        about, told = documentation_of(verb)
        assert about
        assert all(each.kind is not each.VAR_KEYWORD for each in parameters_of(verb).values())
        assert set(options(verb)) <= set(told)
