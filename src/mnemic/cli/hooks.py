"""`mnemic hooks`: memory for coding assistants through their hooks.

A hook must never harm the assistant's session. Whatever fails, it exits with 0 within its time limit and prints one
line on standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from mnemic.cli import clients
from mnemic.cli.clients import OPENCLAW, PROGRAMS
from mnemic.cli.commands import command
from mnemic.cli.failures import report, show_traceback
from mnemic.cli.mcp import describe_change, list_options, show_change
from mnemic.cli.options import IsDryRun, ScopeOptions
from mnemic.cli.output import note, show_json, write
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.document import MEBIBYTE

if TYPE_CHECKING:
    from mnemic.integrations.memory import AnyMnemic

_Answer = TypeVar("_Answer")
TIMEOUT_S = 10.0  # a person waits for the prompt; memory that is late is left out
CAPTURE_TIMEOUT_S = 55.0  # ends before the 60 s that Claude Code gives a hook
MAX_EVENT_BYTES = 64 * MEBIBYTE  # of an event: bounds memory; one may hold what a tool printed
KEY_VARIABLE = "MNEMIC_KEY"
_NEXT = {
    OPENCLAW: """  then let OpenClaw load the plugin and read conversations:
    openclaw plugins enable mnemic
    openclaw config set plugins.entries.mnemic.hooks.allowConversationAccess true
  and restart the gateway""",
    "codex": "  then review and trust the hooks in Codex with /hooks",
    "cursor": "  Cursor adds memory when a chat starts; for use during it, run `mnemic mcp install --client cursor`",
}
"""What the user does next."""

Program = Annotated[str, typer.Argument(help="The coding assistant: " + ", ".join(PROGRAMS) + ".", metavar="PROGRAM")]
Folder = Annotated[Path | None, typer.Option("--project", help="Change only this project's hooks.", metavar="FOLDER")]
Server = Annotated[
    str | None, typer.Option("--server", help=f"Use the Mnemic server at this URL, with the API key in {KEY_VARIABLE}.")
]
Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="Share one memory across all folders, instead of one for each project.")
]


@dataclass(frozen=True, slots=True)
class HookOptions(ScopeOptions):
    """The scope and the local or remote store. `is_everywhere`: all projects share one memory."""

    server: Server = None
    is_everywhere: Everywhere = False


@command("hooks install")
def install(program: Program, options: HookOptions, project: Folder = None, is_dry_run: IsDryRun = False) -> None:
    """Make a coding assistant recall memories before each prompt and capture each exchange. Writes the scope and store
    to the assistant's configuration, but never an API key. Other hooks are kept, and the previous file is backed up.
    Installing twice changes nothing.
    """
    _check_program(program, project)
    own = clients.build_own_entry(()).program
    line = [own, "hooks", "run", program, *list_options(options, options.server)]
    line += ["--everywhere"] if options.is_everywhere else []
    _change(program, project, line, is_dry_run=is_dry_run, as_json=options.as_json)
    if program in _NEXT and not is_dry_run and not options.as_json:
        note(_NEXT[program])


@command("hooks uninstall")
def uninstall(program: Program, options: ScopeOptions, project: Folder = None, is_dry_run: IsDryRun = False) -> None:
    """Remove only Mnemic's hooks. Other hooks and your memories are kept."""
    _check_program(program, project)
    _change(program, project, (), is_dry_run=is_dry_run, as_json=options.as_json)


def _change(program: str, project: Path | None, line: Sequence[str], *, is_dry_run: bool, as_json: bool) -> None:
    if program == OPENCLAW:
        changed = clients.install_openclaw_plugin(clients.find_plugin_folder(), line, is_dry_run=is_dry_run)
    else:
        changed = clients.install_hooks(program, project, line, is_dry_run=is_dry_run)
    if as_json:
        show_json({"program": changed.program, "place": str(changed.place), **describe_change(changed)})
        return
    done, removed = ("would write", "would remove") if is_dry_run else ("wrote", "removed")
    unchanged = "has them already" if line else "has none"
    show_change(changed, unchanged, done if line else f"{removed} them from", is_dry_run=is_dry_run)


@command("hooks run")
def run(
    program: Program,
    options: HookOptions,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout-s", help="Maximum running time of the hook, in seconds.")
    ] = None,
) -> None:
    """Handle one event from standard input. Coding assistants run this command for you."""
    began = time.monotonic()
    event = _run_within(timeout_s or TIMEOUT_S, _read_event, began)
    from mnemic.engine.context_records import through
    from mnemic.integrations.hooks import HOOKS, find_folder
    from mnemic.integrations.projects import clear_note, find_project

    if program not in HOOKS:
        raise InvalidInputError(f"unknown program {program!r}; use {', '.join(PROGRAMS)}")
    is_asked = "prompt" in event and "prompt_response" not in event
    limit = timeout_s or (TIMEOUT_S if is_asked else CAPTURE_TIMEOUT_S)

    def answer() -> str:
        scope, project = options.personal_scope, None
        folder = None if options.is_everywhere or scope.agent else find_folder(program, event)
        if folder is not None and (project := find_project(folder)) is not None:
            scope = replace(scope, agent=project.id)
        told = project.note if project else ""
        if told:
            note(f"mnemic: {told}")
        with _open_memory(options) as mnemic, through("hooks"):
            answered = HOOKS[program](mnemic, scope, {**event, "note": told})
        if project and told and '"systemMessage"' in answered:
            clear_note(project)
        return answered

    if answered := _run_within(limit, answer, began):
        write(answered)


def is_hook(arguments: Sequence[str]) -> bool:
    """True for the command line of a hook."""
    return list(arguments[:2]) == ["hooks", "run"]


def harmless(done: Callable[[], int]) -> int:
    """Returns 0 even if the hook fails, because for Claude Code a 2 means to discard the user's prompt."""
    try:
        done()
    except Exception as error:  # noqa: BLE001 -- a hook's last resort: the user's session goes on
        show_traceback()
        report("unexpected", f"the hook did nothing: {type(error).__name__}", is_json=False)
    return 0


def _run_within(seconds: float, verb: Callable[[], _Answer], began: float) -> _Answer:
    """The answer of a verb. After the time limit since `began` this process ends with 0, because a wait cannot be
    cancelled and must not delay the user.
    """
    watch = threading.Timer(began + seconds - time.monotonic(), _give_up, [seconds])
    watch.daemon = True
    watch.start()
    try:
        return verb()
    finally:
        watch.cancel()


def _give_up(seconds: float) -> None:
    try:
        report("timed_out", f"the hook did not finish within {seconds:g} s", is_json=False)
        sys.stderr.flush()
    finally:
        os._exit(0)


def _read_event() -> dict[str, Any]:
    content = sys.stdin.buffer.read(MAX_EVENT_BYTES)
    try:
        event: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("standard input is not a JSON event") from error
    if not isinstance(event, dict):
        raise InvalidInputError("an event must be a JSON object")
    return cast("dict[str, Any]", event)


def _open_memory(options: HookOptions) -> AbstractContextManager[AnyMnemic]:
    if options.server is None:
        return options.open()
    from mnemic.remote import connect

    return connect(options.server, os.environ.get(KEY_VARIABLE))


def _check_program(program: str, project: Path | None) -> None:
    if program not in PROGRAMS:
        raise InvalidInputError(f"unknown program {program!r}; use {', '.join(PROGRAMS)}")
    if project is not None and program == OPENCLAW:
        raise InvalidInputError("openclaw has no project hooks; leave out --project")
    if project is not None and not project.expanduser().is_dir():
        raise ConfigError(f"the folder {project} does not exist")
