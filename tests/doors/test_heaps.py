"""The threads of a server share few heaps."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from mnemic.cli.answering import MOST_HEAPS

HEAPS_OF_TWELVE_THREADS = """
import ctypes, sys, threading
from mnemic.cli.answering import share_heaps
share_heaps()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fdopen.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.fdopen.argtypes = [ctypes.c_size_t], [ctypes.c_int, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fflush.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
all_there = threading.Barrier(12)
def take():
    libc.malloc(1000)
    all_there.wait()
threads = [threading.Thread(target=take) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.parametrize("told, most", [({}, MOST_HEAPS), ({"MALLOC_ARENA_MAX": "2"}, 2)])
def test_many_threads_share_few_heaps_or_as_many_as_an_operator_says(told: dict[str, str], most: int):
    known = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", HEAPS_OF_TWELVE_THREADS]
    told_of = subprocess.run(command, env=known | told, capture_output=True, text=True, check=True).stdout
    assert 1 <= len(re.findall("<heap nr=", told_of)) <= most, told_of
