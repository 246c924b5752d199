"""The menu of commands: their sections, groups and modules, and the words that other programs use for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Remember and find": {
        "remember": "store one memory",
        "capture": "store one exchange of a conversation",
        "complete": "add the assistant's side to an exchange",
        "recall": "find what answers a question",
        "context": "show what a model would get with a message",
        "ask": "answer a question from memories and documents",
        "research": "answer a question from the whole of one long document",
        "chat": "talk with an assistant that remembers",
    },
    "Look at what is stored, and correct it": {
        "memory": "list, show, change, judge and delete memories",
        "profile": "a user's hard facts, which every prompt contains",
        "documents": "the documents that were ingested",
        "graph": "people, projects and things, and their relations",
        "messages": "what was said, word for word",
        "window": "the last messages of a session",
        "health": "find duplicates, contradictions and stale memories",
    },
    "Bring in and take out": {
        "ingest": "read files and folders",
        "import": "read chats and memories of other programs",
        "export": "write everything of a user as JSON lines",
        "erase": "erase everything of a user for good, with a receipt",
        "receipts": "list what was erased",
        "backup": "write the whole store to one checked file",
        "restore": "replace the store by a backup",
    },
    "Serve": {
        "serve": "REST, MCP, the proxy before a model and the web console",
        "mcp": "serve one MCP client, or write it into its configuration",
        "hooks": "give Claude Code or OpenClaw memory by their hooks",
        "keys": "the server's API keys and its audit log",
        "tools": "the tools that a model may call",
    },
    "Set up and look after": {
        "tour": "a demonstration of a minute, on a temporary store",
        "init": "write a first configuration file",
        "config": "show the configuration and where it comes from",
        "doctor": "check every part of the installation",
        "reembed": "embed everything again with another embedder",
        "eval": "measure quality and speed, on your data too",
    },
    "What a worker does by itself (`serve` and `chat` run one)": {
        "worker": "run jobs as they come due, until it is stopped",
        "work": "run the jobs that are due, once",
        "jobs": "list unfinished jobs and retry failed ones",
        "extract": "find the facts in what a user said",
        "summarise": "summarise what has fallen out of a session's window",
        "end": "end a session",
        "reflect": "make a reflection of a session's summaries",
        "curate": "keep of whole days what will still be worth it",
        "consolidate": "merge repeated choices into one preference",
        "decay": "let the importance of memories fade",
        "evict": "archive what has faded or expired",
    },
}
"""Every command and group, by what a person wants to do."""

NAMES = tuple(name for section in SECTIONS.values() for name in section)

GROUPS: Mapping[str, str] = {
    "memory": "List, add, show, change, judge and delete memories.",
    "documents": "Ingested documents: list, show, delete.",
    "graph": "Named things and their relations: list, walk, draw, extract.",
    "profile": "A user's hard facts, by key. Every prompt contains them.",
    "jobs": "Unfinished jobs, and jobs that gave up.",
    "tools": "The tools that a model may call.",
    "keys": "API keys of the server, and its audit log.",
    "config": "What is configured, and where.",
    "eval": "Measure how good and how fast Mnemic is.",
    "mcp": "Serve this memory to MCP clients; `install` writes it into their configuration.",
    "hooks": "Memory for coding assistants, by the hooks that they call.",
}
"""What the help says of each group."""

MODULES: Mapping[str, tuple[str, ...]] = {
    "memories": ("remember", "memory", "profile"),
    "recall": ("recall", "context", "ask"),
    "conversation": ("capture", "complete", "messages", "window", "extract", "summarise", "end", "reflect"),
    "chat": ("chat", "tools"),
    "documents": ("documents", "ingest", "research"),
    "graph": ("graph",),
    "transfer": ("import", "export", "backup", "restore", "erase", "receipts"),
    "upkeep": ("doctor", "health", "reembed", "worker", "work", "jobs", "curate", "consolidate", "decay", "evict"),
    "serve": ("serve",),
    "mcp": ("mcp",),
    "hooks": ("hooks",),
    "configure": ("init", "config", "keys"),
    "tour": ("tour",),
    "evaluate": ("eval",),
}
"""The modules of this package and the commands and groups that each registers."""

OTHER_WORDS: Mapping[str, Mapping[str, str]] = {
    "mnemic": {
        **dict.fromkeys(("add", "store", "save", "note", "create"), "`mnemic remember` keeps a memory"),
        **dict.fromkeys(("search", "find", "query"), "`mnemic recall` finds memories"),
        **dict.fromkeys(("list", "ls", "all", "memories"), "`mnemic memory list` lists memories"),
        **dict.fromkeys(("get", "show"), "`mnemic memory show ID` shows a memory"),
        **dict.fromkeys(("update", "edit"), "`mnemic memory edit ID` changes a memory"),
        **dict.fromkeys(
            ("delete", "remove", "rm", "forget", "delete-all", "purge", "wipe"),
            "`mnemic memory delete ID` deletes one memory, `mnemic erase` everything of a user",
        ),
        **dict.fromkeys(("clear", "reset"), "`mnemic memory clear` deletes the memories of a user, `mnemic erase` all"),
        "history": "`mnemic memory history ID` tells what happened to a memory",
        "undo": "`mnemic memory undo ID` takes back the last change of a memory",
        **dict.fromkeys(("upload", "load"), "`mnemic ingest` takes in files, `mnemic import` chats"),
        **dict.fromkeys(("server", "start", "run", "api", "rest", "proxy"), "`mnemic serve` starts it"),
        **dict.fromkeys(("console", "ui", "web", "dashboard"), "`mnemic serve` has it at /console"),
        **dict.fromkeys(
            ("status", "stats", "check"), "`mnemic doctor` checks the installation, `mnemic health` memory"
        ),
        **dict.fromkeys(("users", "user"), "a store does not tell who is in it; --user names one"),
        **dict.fromkeys(("setup", "configure", "settings"), "`mnemic init` writes a configuration file"),
        **dict.fromkeys(("summarize",), "`mnemic summarise` does that"),
        **dict.fromkeys(("demo", "quickstart"), "`mnemic tour` shows what there is"),
        "version": "`mnemic --version` prints it",
        "help": "`mnemic --help` and `mnemic COMMAND --help` print it",
    },
    "memory": {
        **dict.fromkeys(("search", "find", "query"), "`mnemic recall` finds memories"),
        "get": "`mnemic memory show ID` shows a memory",
        "update": "`mnemic memory edit ID` changes a memory",
        **dict.fromkeys(("remove", "rm", "forget"), "`mnemic memory delete ID` deletes a memory"),
        "create": "`mnemic memory add` keeps a memory",
    },
    "documents": {
        **dict.fromkeys(("add", "ingest", "upload"), "`mnemic ingest` takes in files"),
        **dict.fromkeys(("search", "find", "query"), "`mnemic recall QUESTION --kind document` finds passages"),
        **dict.fromkeys(("remove", "rm"), "`mnemic documents delete ID` removes a document"),
        "get": "`mnemic documents show ID` shows a document",
    },
}
"""Words of other programs, and the command that does the same here, by group."""


class Menu(TyperGroup):
    """A group whose help lists the commands in full, those of the whole program by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands with what they do, wrapped instead of cut."""
        if ctx.parent is None:
            width = max(map(len, NAMES))
            for title, commands in SECTIONS.items():
                _write_section(formatter, title, commands, width)
            return
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = {name: each.get_short_help_str(1000) for name, each in found.items() if each and not each.hidden}
        _write_section(formatter, "Commands", rows, max(map(len, rows)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The named command. A word of another program fails with the command that does the same here."""
        hint = OTHER_WORDS.get(ctx.info_name or "", {}).get(args[0])
        if hint is not None and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


def _write_section(formatter: Any, title: str, rows: Mapping[str, str], width: int) -> None:
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), about) for name, about in rows.items()])
