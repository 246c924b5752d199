"""`mnemic hooks`: memory for coding assistants, by the hooks that they call.

What a hook runs must never harm the session that it serves: whatever is wrong, it ends with 0 within its time, and says
so in a line on the standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mnemic.cli import hook_clients
from mnemic.cli.chat import own_name
from mnemic.cli.failures import report, show_traceback
from mnemic.cli.hook_clients import CLAUDE_CODE, PROGRAMS, Changed
from mnemic.cli.mcp import place_of
from mnemic.cli.mcp_clients import own_entry
from mnemic.cli.options import command
from mnemic.cli.output import note, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.integrations.holder import AnyMnemic

TIMEOUT_S = 10.0
CAPTURE_TIMEOUT_S = 55.0
MAX_EVENT_BYTES = 64 * (1 << 20)
KEY_VARIABLE = "MNEMIC_KEY"
_OPENCLAW_NEXT = """  then let OpenClaw load it, and let it read conversations:
    openclaw plugins enable mnemic
    openclaw config set plugins.entries.mnemic.hooks.allowConversationAccess true
  and restart the gateway"""

Program = Annotated[str, typer.Argument(help="claude-code or openclaw.", metavar="PROGRAM")]
Folder = Annotated[
    Path | None, typer.Option("--project", help="Only in this project of Claude Code, not for all.", metavar="FOLDER")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")]
Server = Annotated[
    str | None,
    typer.Option("--server", help=f"Ask the server at this address instead, with the key in {KEY_VARIABLE}."),
]


@dataclass(frozen=True, slots=True)
class HookOptions(ScopeOptions):
    """The scope and the store, here or on a server."""

    server: Server = None


def put(program: Program, asking: HookOptions, project: Folder = None, is_dry_run: DryRun = False) -> None:
    """Let a program call Mnemic: it recalls before a prompt, and captures what was said after the answer. The scope
    and the store of the options are written down, never a key. Hooks of others stay; a copy of a file as it was is put
    beside it; doing it again changes nothing.
    """
    line = _line(_known(program, project), asking)
    if program == CLAUDE_CODE:
        changed = hook_clients.put_claude_hooks(hook_clients.settings_file(project), line, is_dry_run=is_dry_run)
    else:
        changed = hook_clients.put_openclaw_plugin(hook_clients.plugin_folder(), line, is_dry_run=is_dry_run)
    _tell(changed, asking, "has them already", "would write" if is_dry_run else "wrote")
    if program != CLAUDE_CODE and not is_dry_run and not asking.as_json:
        note(_OPENCLAW_NEXT)


def take(program: Program, asking: ScopeOptions, project: Folder = None, is_dry_run: DryRun = False) -> None:
    """Take Mnemic's hooks out again, and nothing else. What is remembered stays."""
    if _known(program, project) == CLAUDE_CODE:
        changed = hook_clients.take_claude_hooks(hook_clients.settings_file(project), is_dry_run=is_dry_run)
    else:
        changed = hook_clients.take_openclaw_plugin(hook_clients.plugin_folder(), is_dry_run=is_dry_run)
    _tell(changed, asking, "has none", "would take them out of" if is_dry_run else "took them out of")


def run(
    program: Program,
    asking: HookOptions,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout-s", help="End after so many seconds, done or not.")
    ] = None,
) -> None:
    """Answer one event, which the program hands in on the standard input. Called by the program, not by people."""
    event = _event()
    from mnemic.integrations.hooks import HOOKS

    if program not in HOOKS:
        raise InvalidInputError(f"there is no program {program!r}; there are {', '.join(PROGRAMS)}")
    is_asked = "prompt" in event
    limit = timeout_s or (TIMEOUT_S if is_asked else CAPTURE_TIMEOUT_S)

    def answer() -> str:
        with _opened(asking) as mnemic:
            return HOOKS[program](mnemic, _scope(asking), event)

    if answered := _within(limit, answer):
        write(answered)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(
        help="Memory for coding assistants, by the hooks that they call.", no_args_is_help=True, rich_markup_mode=None
    )
    examples = """
        mnemic hooks install claude-code --user ana
        mnemic hooks install claude-code --user ana --project . --dry-run
        mnemic hooks install openclaw --user ana
    """
    command(group, "install", examples=examples)(put)
    command(group, "uninstall", examples="mnemic hooks uninstall claude-code")(take)
    command(group, "run", examples="mnemic hooks run claude-code --user ana < event.json")(run)
    app.add_typer(group, name="hooks")


def is_hook(arguments: Sequence[str]) -> bool:
    """True for a command line that a program runs as its hook."""
    return list(arguments[:2]) == ["hooks", "run"]


def harmless(done: Callable[[], int]) -> int:
    """0, whatever comes of it: Claude Code takes a 2 for an order to throw the user's prompt away."""
    try:
        done()
    except Exception as error:  # noqa: BLE001 -- a hook's last resort: the user's session goes on
        show_traceback()
        report("unexpected", f"the hook did nothing: {type(error).__name__}", is_json=False)
    return 0


def _within(seconds: float, verb: Callable[[], str]) -> str:
    """What a verb answers within the time. After it this process ends with 0: a wait cannot be broken off, and may not
    keep the user waiting.
    """
    watch = threading.Timer(seconds, _give_up, [seconds])
    watch.daemon = True
    watch.start()
    try:
        return verb()
    finally:
        watch.cancel()


def _give_up(seconds: float) -> None:
    report("timed_out", f"the hook did nothing within {seconds:g} s", is_json=False)
    sys.stderr.flush()
    os._exit(0)


def _event() -> dict[str, Any]:
    content = sys.stdin.buffer.read(MAX_EVENT_BYTES)
    try:
        event: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("the standard input holds no event in JSON") from error
    if not isinstance(event, dict):
        raise InvalidInputError("an event is a JSON object")
    return cast("dict[str, Any]", event)


def _opened(asking: HookOptions) -> AbstractContextManager[AnyMnemic]:
    if asking.server is None:
        return asking.open()
    from mnemic.remote import connect

    return connect(asking.server, os.environ.get(KEY_VARIABLE))


def _scope(asking: ScopeOptions) -> Scope:
    scope = asking.scope
    return scope if scope.user or scope.agent else replace(scope, user=own_name())


def _known(program: str, project: Path | None) -> str:
    if program not in PROGRAMS:
        raise InvalidInputError(f"there is no program {program!r}; there are {', '.join(PROGRAMS)}")
    if project is not None and program != CLAUDE_CODE:
        raise InvalidInputError("--project is of claude-code alone")
    if project is not None and not project.expanduser().is_dir():
        raise ConfigError(f"there is no folder {project}")
    return program


def _line(program: str, asking: HookOptions) -> list[str]:
    """The command line that says the same scope and store again."""
    scope = _scope(asking)
    given = {"--user": scope.user, "--agent": scope.agent, "--session": scope.session}
    given |= {"--server": asking.server, "--store": None if asking.server else place_of(asking.store)}
    if scope.org != "default":
        given["--org"] = scope.org
    if asking.config is not None:
        given["--config"] = str(asking.config.expanduser().resolve())
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    return [own_entry(()).program, "hooks", "run", program, *options]


def _tell(changed: Changed, asking: ScopeOptions, otherwise: str, done: str) -> None:
    if asking.as_json:
        backup = None if changed.backup is None else str(changed.backup)
        told = {"program": changed.program, "place": str(changed.place), "is_changed": changed.is_changed}
        show_json({**told, "backup": backup})
        return
    if not changed.is_changed:
        write(f"{changed.program}: {changed.place} {otherwise}")
        return
    write(f"{changed.program}: {done} {changed.place}")
    if changed.backup is not None:
        note(f"  as it was: {changed.backup}")
