"""`mnemic config show` and `mnemic init`: what is configured, where it came from, and a file to begin with."""

from __future__ import annotations

import os
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, note, one_line, show_json, show_rows, write
from mnemic.cli.scope_options import AsJson, ConfigFile, Store
from mnemic.errors import ConfigError, ConflictError

Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which file and store, and the form of the answer."""

    store: Store = None
    config: ConfigFile = None
    as_json: AsJson = False


def show(asked: Asked) -> None:
    """Show every key with the value that counts and where it came from: an argument, the environment, the file or the
    default. Passwords, keys and tokens are masked.
    """
    from mnemic.config import resolve
    from mnemic.config.keys import slips

    effective = resolve(asked.store, file=asked.config)
    values = [{"key": v.key, "value": v.shown, "origin": v.origin} for v in effective.values]
    if asked.as_json:
        show_json({"file": None if effective.file is None else str(effective.file), "values": values})
        return
    show_rows(("key",), [Row((str(v["key"]),), _written(v["value"]), (one_line(str(v["origin"])),)) for v in values])
    for name, nearest in slips(os.environ).items():
        note(f"{name} is set in the environment and is no key; did you mean {nearest}?")
    if effective.file is None:
        note("no configuration file; `mnemic init` writes a first one")


def begin(config: ConfigFile = None, force: Force = False, as_json: AsJson = False) -> None:
    """Write a first configuration file, every key as a comment with its meaning and default, into your configuration
    folder. A file that is there is never touched, unless --force is given.
    """
    from mnemic.config.resolution import CONFIG_VARIABLE, first_file, own_file

    named = os.environ.get(CONFIG_VARIABLE)
    path = (config or (Path(named) if named else own_file(os.environ))).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(path, first_file(), replaces=force)
    except FileExistsError as error:
        raise ConflictError(
            f"{path} is there already, and stays as it is; `mnemic config show` tells what counts, --force replaces it"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; --config names another place") from error
    if as_json:
        show_json({"file": str(path)})
        return
    write(str(path))
    is_read = path == (Path(named).expanduser() if named else own_file(os.environ))
    told = "" if is_read else f" --config {shlex.quote(str(path))}"
    note(f"its lines are comments that show the defaults: take away a # to set a key, then `mnemic config show{told}`")


def _write_whole(path: Path, text: str, *, replaces: bool) -> None:
    """The file wholly or not at all. Raises `FileExistsError` when there is one and it is not to be replaced."""
    if not replaces:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return
    path = path.resolve()  # a link stays a link
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "init", examples="mnemic init\nmnemic init --config mnemic.toml --force")(begin)


def register_config(group: typer.Typer) -> None:
    """Adds the command of the group."""
    command(group, "show", examples="mnemic config show\nmnemic config show --config mnemic.toml --json")(show)


def _written(value: object) -> str:
    """As it would stand in a file; a text without its quotes."""
    from mnemic.config.resolution import as_toml

    return "–" if value is None else one_line(value if isinstance(value, str) else as_toml(value))
