"""What a file of notes says of itself, between lines of three dashes at its beginning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from mnemic.text.memoryfiles.dates import date_before

MAX_TAGS = 16
MAX_TAG_CHARS = 64
_FIELD = re.compile(r"(?P<key>[\w-]{1,40})[ \t]*:[ \t]*(?P<value>.*)")
_ELEMENT = re.compile(r"[ \t]*-[ \t]+(?P<value>.+)")
_TITLES = ("title", "name", "label", "description")
_DAYS = ("date", "updated", "created", "last_updated", "updated_at", "created_at")
_TAGS = ("tags", "categories", "keywords")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`titles` stand above everything in the file; `day` is when it was written; `lines`: how many there were."""

    titles: tuple[str, ...] = ()
    day: datetime | None = None
    categories: tuple[str, ...] = ()
    lines: int = 0


def front_matter(text: str) -> FrontMatter:
    """Reads `key: value`, and lists in brackets or of dashes; whatever else is there is left out."""
    fields: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    key, lines = "", text.strip().splitlines()[1:-1]
    for line in lines:
        if (element := _ELEMENT.match(line)) and key:
            lists.setdefault(key, []).append(_bare(element["value"]))
        elif found := _FIELD.match(line):
            key = found["key"].lower().replace("-", "_")
            fields[key] = found["value"].strip()
    titles = tuple(dict.fromkeys(_bare(fields[name]) for name in _TITLES if _bare(fields.get(name, ""))))
    days = [day for name in _DAYS if (day := date_before(_bare(fields.get(name, "")))) is not None]
    tags = [tag for name in _TAGS for tag in (*_listed(fields.get(name, "")), *lists.get(name, ()))]
    fitting = [tag for tag in dict.fromkeys(tags) if 0 < len(tag) <= MAX_TAG_CHARS]
    return FrontMatter(titles, days[0] if days else None, tuple(fitting[:MAX_TAGS]), len(lines))


def _listed(value: str) -> list[str]:
    return [bare for part in value.strip().removeprefix("[").removesuffix("]").split(",") if (bare := _bare(part))]


def _bare(value: str) -> str:
    return value.strip().strip("\"'").strip()
