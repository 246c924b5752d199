"""`mnemic init`, `config show`, `config set` and `keys …`: the configuration, and the server's API keys."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.commands import command, verb_command
from mnemic.cli.input import open_replacement
from mnemic.cli.options import AsJson, ConfigFile, StoreOptions
from mnemic.cli.output import Row, format_time, note, one_line, show_json, show_rows, write
from mnemic.errors import ConfigError, ConflictError

if TYPE_CHECKING:
    from mnemic.model.records import ApiKey, AuditPage, IssuedKey


@command("config show")
def show(
    options: StoreOptions,
    is_whole: Annotated[
        bool, typer.Option("--all", help="Show all settings, including those with default values.")
    ] = False,
) -> None:
    """Show the store and the settings that differ from their defaults, each with its source (argument, environment or
    configuration file). Passwords, keys and tokens are masked. --all and --json show all settings.
    """
    from mnemic.config import resolve
    from mnemic.config.keys import slips

    effective = resolve(options.store, file=options.config)
    values = [{"key": v.key, "value": v.shown, "origin": v.origin} for v in effective.values]
    if options.as_json:
        show_json({"file": None if effective.file is None else str(effective.file), "values": values})
        return
    shown = [each for each in values if is_whole or each["origin"] != "default" or each["key"] == "store"]
    show_rows(("key",), [Row((str(v["key"]),), _format_value(v["value"]), (str(v["origin"]),)) for v in shown])
    if len(shown) < len(values):
        note(f"{len(values) - len(shown)} settings have default values; use --all to show them")
    for name, nearest in slips(os.environ).items():
        note(f"the environment variable {name} is unknown; did you mean {nearest}?")
    if effective.file is None:
        note("no configuration file; `mnemic init` creates one")


@command("config set")
def set_(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, such as user or embedder.name.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The value. Write lists and tables as JSON.")],
    config: ConfigFile = None,
) -> None:
    """Set a key in the configuration file, and create the file if it is missing. Other lines are not changed."""
    from mnemic.config import resolve
    from mnemic.config.resolution import with_setting

    path = _file(config)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        _write_whole(path, with_setting(content, key, value, path), replaces=True)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be changed: {error}; choose another file with --config") from error
    set_to = next(each for each in resolve(file=path).values if each.key == key)
    write(f"{key} = {_format_value(set_to.shown)}")
    if not set_to.origin.startswith("file "):
        note(f"{set_to.origin} overrides {path}")


@command("init")
def init(
    config: ConfigFile = None,
    is_forced: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    is_for_prompts: Annotated[
        bool, typer.Option("--prompts", help="Write the editable prompt files instead of the configuration file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a starter configuration file in your configuration folder. The file lists every key in a comment, with its
    meaning and default. Use --force to replace an existing file.

    With --prompts, create a `prompts` folder there instead, with the language model prompts in one file per language.
    Edit the files, and set llm.prompts to the folder. If you delete a prompt, its default is used.
    """
    from mnemic.config.resolution import first_file
    from mnemic.text import wordings

    path, usual = _file(config), _file(None)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_for_prompts:
            (path := path.with_name("prompts")).mkdir(exist_ok=True)
            for language in wordings.LANGUAGES:
                _write_whole(path / f"{language}.toml", wordings.shipped_file(language), replaces=is_forced)
        else:
            _write_whole(path, first_file(), replaces=is_forced)
    except FileExistsError as error:
        raise ConflictError(f"{path} already exists; see `mnemic config show`, or replace it with --force") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; choose another file with --config") from error
    if as_json:
        show_json({"file": str(path)})
        return
    write(str(path))
    if is_for_prompts:
        note(f"edit the files, then set llm.prompts = {str(path)!r} in your configuration file")
        return
    option = "" if path == usual else f" --config {shlex.quote(str(path))}"
    note(f"all keys are commented out and show defaults; remove a # to set one, then run `mnemic config show{option}`")


@verb_command("keys create", is_stated=True)
def create(issued: IssuedKey) -> None:
    """Create an API key for the org. Use --user or --agent to restrict the key. The key is shown only once.

    Once a key exists, every request to `mnemic serve` needs one.
    """
    note(f"key {issued.key.id}; copy the token now, because it will not be shown again:")
    write(issued.token)


@verb_command("keys list", is_stated=True)
def list_keys(keys: Sequence[ApiKey]) -> None:
    """List the org's keys, including expired and revoked ones, without their secrets."""
    show_rows(("id", "rights"), [_format_key(key) for key in keys], "no keys in this org")


@verb_command("keys revoke", is_stated=True)
def revoke(key: ApiKey) -> None:
    """Revoke a key. Running servers reject the key immediately."""
    note(f"key {one_line(key.id)} has been revoked")


@verb_command("keys rotate", is_stated=True)
def rotate(issued: IssuedKey) -> None:
    """Replace a key with a new one that has the same rights. The old key keeps working for --overlap seconds."""
    create(issued)


@verb_command("keys audit", is_stated=True)
def audit(page: AuditPage) -> None:
    """Show the org's audit log of HTTP requests and key changes, newest first."""
    rows = [
        Row((format_time(entry.at), entry.actor), entry.verb, (entry.target, entry.outcome)) for entry in page.entries
    ]
    show_rows(("at", "who"), rows, "the audit log of this org is empty")


def _file(named: Path | None) -> Path:
    """The configuration file to write: the named one, else the one that is read."""
    from mnemic.config.resolution import CONFIG_VARIABLE, own_file

    return (named or Path(os.environ.get(CONFIG_VARIABLE) or own_file(os.environ))).expanduser()


def _write_whole(path: Path, text: str, *, replaces: bool) -> None:
    """Writes the file completely or not at all. Raises `FileExistsError` for one that must not be replaced."""
    if not replaces:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return
    with open_replacement(path.resolve()) as file:  # a link stays a link
        file.write(text)


def _format_value(value: object) -> str:
    """A value as in a configuration file, but texts without quotes."""
    from mnemic.config.resolution import as_toml

    return "–" if value is None else value if isinstance(value, str) else as_toml(value)


def _format_key(key: ApiKey) -> Row:
    ends = [
        f"{word} {format_time(at)}" for word, at in (("expires", key.expires_at), ("revoked", key.revoked_at)) if at
    ]
    bounds = [f"{part} {value}" for part, value in (("user", key.user), ("agent", key.agent)) if value]
    return Row(
        (key.id, " ".join(sorted(key.rights))), key.name, (*bounds, f"made {format_time(key.created_at)}", *ends)
    )
