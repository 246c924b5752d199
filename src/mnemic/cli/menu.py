"""How the commands are listed, by what somebody wants to do, and what is said to the words that other programs use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Remember and find": {
        "remember": "keep one memory",
        "capture": "keep what was said: one exchange of a conversation",
        "complete": "add the assistant's side to an exchange",
        "recall": "find what answers a question",
        "context": "show what a model would be told beside a message",
        "ask": "answer a question from memories and documents",
        "research": "answer a question from the whole of one long document",
        "chat": "talk with an assistant that remembers",
    },
    "Look at what is kept, and correct it": {
        "memory": "list, show, change, judge and delete memories",
        "profile": "the hard facts of a user, always put before a model",
        "documents": "what was taken in of files",
        "graph": "who and what is named, and how it is related",
        "messages": "what was said, word for word",
        "window": "the last messages of a session",
        "health": "find duplicates, contradictions and what is out of date",
    },
    "Bring in and take out": {
        "ingest": "take in files and folders",
        "import": "take in chats and memories of other programs",
        "export": "write everything of a user as JSON lines",
        "erase": "erase everything of a user for good, with a receipt",
        "receipts": "list what was erased",
        "backup": "write the whole store to one checked file",
        "restore": "put a backup in the place of the store",
    },
    "Serve": {
        "serve": "REST, MCP, the proxy before a model and the web console",
        "mcp": "serve one MCP client, or write it into its configuration",
        "hooks": "give Claude Code or OpenClaw memory by their hooks",
        "keys": "who may ask the server, and what was done",
        "tools": "what a model may call",
    },
    "Set up and look after": {
        "tour": "see in a minute what this does, on a store that is thrown away",
        "init": "write a first configuration file",
        "config": "show what is configured, and where",
        "doctor": "check every part of the installation",
        "reembed": "make the vectors of another embedder",
        "eval": "measure how good and how fast it is, on your data too",
    },
    "What a worker does by itself (`serve` and `chat` run one)": {
        "worker": "run jobs as they come due, until it is ended",
        "work": "run the jobs that are due, once",
        "jobs": "list what must still be done, and try again what gave up",
        "extract": "find the facts in what a user said",
        "summarise": "summarise what has fallen out of a session's window",
        "end": "end a session",
        "reflect": "make a reflection of a session's summaries",
        "curate": "keep of whole days what will still be worth it",
        "consolidate": "make one preference of what was chosen again and again",
        "decay": "let the importance of memories fade",
        "evict": "archive what has faded or expired",
    },
}

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
"""What does what somebody means who comes with another program's words, by group and word."""


class Menu(TyperGroup):
    """A group whose help lists the commands by section where there are any, and says each in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands with what they do, wrapped instead of cut."""
        left = {name: found for name in self.list_commands(ctx) if (found := self.get_command(ctx, name))}
        width = max(map(len, left))
        is_whole = ctx.parent is None
        for title, commands in SECTIONS.items() if is_whole else ():
            _section(formatter, title, [(name, said) for name, said in commands.items() if left.pop(name, None)], width)
        rest = [(name, each.get_short_help_str(1000)) for name, each in left.items() if not each.hidden]
        _section(formatter, "Others" if is_whole else "Commands", rest, width)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named; to a word of another program, what does the same here."""
        said = OTHER_WORDS.get(ctx.info_name or "", {}).get(args[0])
        if said is not None and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}: {said}")
        return super().resolve_command(ctx, args)


def _section(formatter: Any, title: str, rows: list[tuple[str, str]], width: int) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), said) for name, said in rows])
