"""Use a Mnemic server. Start one with `mnemic serve`, and pass its address and your API key."""

import os

import mnemic

url = os.environ.get("MNEMIC_URL", "http://127.0.0.1:7700")

with mnemic.connect(url, os.environ.get("MNEMIC_KEY")) as memory:
    ana = memory.for_user("ana")
    ana.remember("Ana prefers dark mode", kind="preference")
    for hit in ana.recall("What should the editor look like?", limit=3):
        print(hit.text)
