"""The last messages of a session: what a chat still has before its eyes."""

from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError
from mnemic.model.item import Message
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.index import within_ttl


def window(engine: Engine, scope: Scope, limit: int | None = None, *, include_closed: bool = False) -> list[Message]:
    """The last `limit` messages of the scope's session (None: as many as a window holds), oldest first; none when the
    session is unknown or, but for `include_closed`, nothing was written in it for longer than a window lives.
    """
    if scope.session is None:
        raise InvalidInputError("a window is that of a session; say which, as session=…")
    wanted = engine.settings.life.window_messages if limit is None else limit
    if include_closed:
        with engine.store.read() as work:
            return list(work.messages.latest(Visibility((scope.message_partition,), None), scope.session, wanted))
    return latest(engine, scope.message_partition, scope.session, wanted)


def latest(engine: Engine, partition: Partition, session: str, limit: int) -> list[Message]:
    """As the `Window` port gives them; where there is none, the store's rows."""
    now = engine.clock.now()
    if engine.window is not None:
        return engine.window.latest(partition, session, limit, now)
    with engine.store.read() as work:
        messages = work.messages.latest(Visibility((partition,), None), session, limit)
    return within_ttl(messages, now, engine.settings.life.window_ttl_s)
