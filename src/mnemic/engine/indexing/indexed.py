"""What is searched of an item: its text, and what says whose it is or where it stands."""

from __future__ import annotations

from mnemic.model.item import Chunk, Item, Message


def indexed_text(item: Item) -> str:
    """The text that is analysed and embedded of an item; spans of hits still count in its stored text. Of a memory it
    is its text, why it matters, and the words it came from.
    """
    if isinstance(item, Message):
        return message_text(item.name, item.text)
    if isinstance(item, Chunk):
        return "\n".join((*chunk_titles(item), item.text))
    return "\n".join(part for part in (item.text, item.context, item.snippet) if part)


def message_text(name: str | None, text: str) -> str:
    """What is searched of a message: who said it belongs to what it means."""
    return f"{name}: {text}" if name else text


def chunk_titles(chunk: Chunk) -> tuple[str, ...]:
    """What stands above the text of a chunk: the title of the document, unless it is the outermost heading, and the
    headings on one line. "Our terms" may say nothing of whose; the title does.
    """
    headings = chunk.headings
    is_named = bool(headings) and headings[0].strip().casefold() == chunk.title.strip().casefold()
    title = "" if is_named else chunk.title
    return tuple(line for line in (title.strip(), chunk.heading.strip()) if line)
