"""Adapts the shared statements of `queries/*.sql` to SQLite and PostgreSQL.

Statements are written in this form and translated once per dialect:

| written | SQLite | PostgreSQL |
|---|---|---|
| `:name` | `:name` | `%(name)s` |
| `:name::bigint` | `:name` | `%(name)s::bigint`, where the server cannot tell the type |
| `= ANY(:ids)`, `!= ALL(:ids)` | `[NOT] IN (SELECT value FROM json_each(:ids))` | `= ANY(%(ids)s::text[])` |
| `is_empty(:kinds)` | `:kinds = '[]'` | `%(kinds)s::text[] = '{}'` |
| `greatest(`, `strpos(` | `max(`, `instr(` | as written |
| `pid+org`, `:pid+org` | `pid`, `:pid` | `pid, org`, `%(pid)s, %(org)s`: row security looks at every row's org |
| `[[this|that]]` | `this` | `that` |
| `$memory`, `$m.memory`, `$:memory` | all columns of the noun, of the table `m`, as parameters | |
| `$=memory`, `$=:memory`, `$[]memory` | assignments from `excluded`, from parameters; parameters that are arrays | |

A statement for only one dialect is named so: `-- name: lock (postgres)`.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from mnemic.model.columns import Columns
from mnemic.model.document import Document, Step
from mnemic.model.graph import Entity, Mention, Relation, Support, Unread
from mnemic.model.item import Chunk, Conversation, Memory, Message, ProfileEntry
from mnemic.model.recall import ContextRecord
from mnemic.model.records import (
    ApiKey,
    AuditEntry,
    HistoryEntry,
    Job,
    KeptRequest,
    KeptToken,
    Placement,
    Receipt,
    Right,
)

_SPAN = {"start": "span_start", "end": "span_end"}

MESSAGE, MEMORY, CONVERSATION = Columns(Message), Columns(Memory), Columns(Conversation)
DOCUMENT = Columns(Document, without=("characters", "chunks"))
CHUNK = Columns(
    Chunk,
    without=("title", "source", "private_agent", "metadata"),
    renamed={**_SPAN, "index": "chunk_index", "page": "page_number", "last_page": "last_page_number"},
)
JOB, HISTORY, PROFILE, STEP = Columns(Job), Columns(HistoryEntry), Columns(ProfileEntry), Columns(Step)
KEY = Columns(
    ApiKey,
    renamed={"user": "bound_user", "agent": "bound_agent"},
    codecs={
        "rights": (
            lambda rights: " ".join(sorted(rights)),
            lambda text: frozenset(Right(word) for word in text.split()),
        )
    },
)
AUDIT, RECEIPT = Columns(AuditEntry), Columns(Receipt, without=("is_plan",))
REQUEST = Columns(KeptRequest, renamed={"user": "for_user", "agent": "for_agent", "session": "for_session"})
SHOWN, TOKEN, PLACEMENT = Columns(ContextRecord), Columns(KeptToken), Columns(Placement)
ENTITY, RELATION = Columns(Entity, renamed={"key": "name_key"}), Columns(Relation)
MENTION, SUPPORT, UNREAD = Columns(Mention, renamed=_SPAN), Columns(Support, renamed=_SPAN), Columns(Unread)

NOUNS: Mapping[str, Columns[Any]] = {
    "message": MESSAGE,
    "memory": MEMORY,
    "conversation": CONVERSATION,
    "document": DOCUMENT,
    "chunk": CHUNK,
    "job": JOB,
    "history": HISTORY,
    "profile": PROFILE,
    "step": STEP,
    "key": KEY,
    "audit": AUDIT,
    "receipt": RECEIPT,
    "request": REQUEST,
    "shown": SHOWN,
    "token": TOKEN,
    "placement": PLACEMENT,
    "entity": ENTITY,
    "relation": RELATION,
    "mention": MENTION,
    "support": SUPPORT,
    "unread": UNREAD,
}
"""The nouns in statements, by the word after `$`."""

_NAME = re.compile(r"^-- name: (\w+)(?: \((\w+)\))?$", re.MULTILINE)
_EITHER = re.compile(r"\[\[(.*?)\|(.*?)\]\]", re.DOTALL)
_NOUN = re.compile(rf"\$(=:|=|:|\[\]|\w+\.)?({'|'.join(NOUNS)})\b")
_LIST = re.compile(r"(= ANY|!= ALL)\(:(\w+)\)")
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_CAST = re.compile(r"::\w+(\[\])?")


@cache
def statements(dialect: str, topic: str) -> dict[str, str]:
    """The statements of `queries/<topic>.sql` by name for `sqlite` or `postgres`, without a closing semicolon."""
    text = files(__package__ or __name__).joinpath(f"queries/{topic}.sql").read_text("utf-8")
    render = _for_postgres if dialect == "postgres" else _for_sqlite
    parts = _NAME.split(text)
    return {
        name: render(_NOUN.sub(_list_columns, body.strip().rstrip(";")))
        for name, only, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
        if only in (None, dialect)
    }


def _list_columns(found: re.Match[str]) -> str:
    how, columns = found[1] or "", NOUNS[found[2]]
    forms = {"": "{0}", ":": ":{0}", "=": "{0} = excluded.{0}", "=:": "{0} = :{0}", "[]": ":{0}::{1}[]"}
    form = forms.get(how, f"{how}{{0}}")
    return ", ".join(form.format(*column) for column in columns.typed_names)


def _for_sqlite(sql: str) -> str:
    sql = _CAST.sub("", _EITHER.sub(r"\1", sql))
    sql = re.sub(r"= ANY\(:(\w+)\)", r"IN (SELECT value FROM json_each(:\1))", sql)
    sql = re.sub(r"!= ALL\(:(\w+)\)", r"NOT IN (SELECT value FROM json_each(:\1))", sql)
    sql = re.sub(r"is_empty\((:\w+)\)", r"\1 = '[]'", sql)
    return sql.replace("pid+org", "pid").replace("greatest(", "max(").replace("strpos(", "instr(")


def _for_postgres(sql: str) -> str:
    sql = _EITHER.sub(r"\2", sql)
    sql = _LIST.sub(lambda found: f"{found[1]}(:{found[2]}::{'bigint' if found[2] == 'pids' else 'text'}[])", sql)
    sql = re.sub(r"is_empty\((:\w+)\)", r"\1::text[] = '{}'", sql)
    sql = re.sub(r"([:.]?)((?:\w+\.)?)pid\+org", r"\1\2pid, \1\2org", sql)
    return _PARAMETER.sub(r"%(\1)s", sql)
