"""Serve many users at once with asyncio."""

import asyncio

from mnemic import AsyncMnemic


async def visit(memory: AsyncMnemic, name: str, drink: str) -> str:
    """Remember a user's drink and recall it."""
    user = memory.for_user(name)
    await user.remember(f"{name} likes {drink}", kind="preference")
    found = await user.recall("What does this guest drink?", limit=1)
    return found[0].text


async def main() -> None:
    """Open one memory for all."""
    async with AsyncMnemic("memory.db") as memory:
        visits = [visit(memory, "Ana", "green tea"), visit(memory, "Ben", "espresso")]
        print(*await asyncio.gather(*visits), sep="\n")


asyncio.run(main())
