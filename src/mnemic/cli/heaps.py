"""Few heaps for many threads, so that the memory of a server stays flat."""

from __future__ import annotations

import ctypes
import os
import platform

MOST_HEAPS = 4
_ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's <malloc.h>."""


def share_heaps() -> None:
    """Let all threads of this process share `MOST_HEAPS` heaps, where the C library is glibc, which else makes eight
    for each core. Each keeps what it once needed, so that a server grows with its threads. An operator who has set
    MALLOC_ARENA_MAX is obeyed instead.
    """
    if platform.libc_ver()[0] == "glibc" and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, MOST_HEAPS)
