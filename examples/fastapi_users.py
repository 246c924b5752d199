"""A web service with one memory per user. Start it with `uvicorn fastapi_users:app`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from mnemic import AsyncMnemic

memory = AsyncMnemic("memory.db")


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
    async with memory:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/users/{user}/notes")
async def note(user: str, text: str) -> list[str]:  # take the user from your own login
    await memory.for_user(user).remember(text)
    return [hit.text for hit in await memory.for_user(user).recall(text)]
