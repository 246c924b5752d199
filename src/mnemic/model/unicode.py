"""Texts that every part can store: valid Unicode."""

from __future__ import annotations

from mnemic.errors import InvalidInputError


def check_unicode(text: str, name: str) -> str:
    """`text` itself. Raises `InvalidInputError` naming the argument when it holds lone surrogates (half a
    character).
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} is not valid Unicode: half of a surrogate pair at character {error.start}; "
            "decode the source as UTF-8 or UTF-16, or replace such characters"
        ) from error
    return text
