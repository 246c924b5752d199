"""`mnemic config show` and `mnemic init`: what is configured, where it came from, and a file to begin with."""

from __future__ import annotations

import os
from dataclasses import dataclass

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, note, one_line, show_json, show_rows, write
from mnemic.cli.scope_options import AsJson, ConfigFile, Store
from mnemic.errors import ConfigError, ConflictError


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

    effective = resolve(asked.store, file=asked.config)
    values = [{"key": v.key, "value": v.shown, "origin": v.origin} for v in effective.values]
    if asked.as_json:
        show_json({"file": None if effective.file is None else str(effective.file), "values": values})
        return
    show_rows(("key",), [Row((str(v["key"]),), _written(v["value"]), (one_line(str(v["origin"])),)) for v in values])
    if effective.file is None:
        note("no configuration file; `mnemic init` writes a first one")


def begin(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Write a first configuration file, every key as a comment with its meaning and default, into your configuration
    folder. A file that is there is never touched.
    """
    from mnemic.config.files import first_file, own_file

    path = config or own_file(os.environ)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(first_file())
    except FileExistsError as error:
        raise ConflictError(
            f"{path} is there already, and stays as it is; `mnemic config show` tells what counts"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; --config names another place") from error
    if as_json:
        show_json({"file": str(path)})
        return
    write(str(path))


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "init", examples="mnemic init\nmnemic init --config mnemic.toml")(begin)


def register_config(group: typer.Typer) -> None:
    """Adds the command of the group."""
    command(group, "show", examples="mnemic config show\nmnemic config show --config mnemic.toml --json")(show)


def _written(value: object) -> str:
    return "–" if value is None else one_line(str(value))
