"""Who is asking, which store, and in which form to answer: the options that every command about memories has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.output import note, one_line
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api import Mnemic

ACTOR = "cli"
User = Annotated[
    str | None, typer.Option("--user", "-u", envvar="MNEMIC_USER", help="The user; else as configured.", metavar="ID")
]
Agent = Annotated[str | None, typer.Option("--agent", envvar="MNEMIC_AGENT", help="The assistant.", metavar="ID")]
Session = Annotated[
    str | None, typer.Option("--session", envvar="MNEMIC_SESSION", help="The conversation.", metavar="ID")
]
Org = Annotated[str, typer.Option("--org", envvar="MNEMIC_ORG", help="The tenant.", metavar="ID")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="A path, sqlite:///path, postgresql://… or memory://; else MNEMIC_STORE, else as configured.",
        metavar="STORE",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="A configuration file; else MNEMIC_CONFIG, else your own.", metavar="FILE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """The scope, the store and the form of the answer. A part that is not named hides its level, never widens it; but
    where no user is named, the configured one is meant.
    """

    user: User = None
    agent: Agent = None
    session: Session = None
    org: Org = "default"
    store: Store = None
    config: ConfigFile = None
    as_json: AsJson = False

    @property
    def scope(self) -> Scope:
        """Who is asking. Raises `InvalidInputError` for an id that cannot be one."""
        from mnemic.config import load_config

        said = self.said
        return said if said.user is not None else replace(said, user=load_config(self.store, file=self.config).user)

    @property
    def said(self) -> Scope:
        """The same as the options and the environment say it, for what must not be done by default: what erases for
        good, and the keys of a server.
        """
        return Scope(org=self.org, agent=self.agent, user=self.user, session=self.session)

    def open(self) -> Mnemic:
        """The store, open; what is written is written down as done from the command line."""
        from mnemic.api import Mnemic
        from mnemic.config import load_config

        config = load_config(self.store, file=self.config)
        is_new = self.store is not None and "://" not in self.store and not Path(self.store).expanduser().exists()
        opened = Mnemic.open(config, actor=ACTOR)
        if is_new and not self.as_json:
            note(f"{one_line(str(self.store))} was not there: it is a new store, with nothing in it")
        return opened
