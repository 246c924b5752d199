"""Paths as texts that can be stored, and how files are opened here."""

from __future__ import annotations

import os

READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def clean(path: str) -> str:
    """A path as a text that can be stored: bytes that are no UTF-8, and control characters, are written as escapes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}" for c in text)


def told(error: OSError) -> str:
    """What the system says is the matter."""
    return error.strerror or type(error).__name__
