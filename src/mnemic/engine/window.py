"""A session's last messages, which a chat still has in its context, and the partition that contains them."""

from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError
from mnemic.model.item import Message
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.ports.index import within_ttl
from mnemic.ports.store import UnitOfWork


def window(engine: Engine, scope: Scope, limit: int | None = None, *, include_closed: bool = False) -> list[Message]:
    """The last `limit` messages of the scope's session (None: a whole window), oldest first, without those of other
    projects. Empty if the session is unknown or, without `include_closed`, has been idle too long.
    """
    if scope.session is None:
        raise InvalidInputError("only a session has a window; pass session=…")
    wanted = engine.settings.life.window_messages if limit is None else limit
    # Most sessions are lasting. The store is needed to find the partition only if there are no lasting messages.
    found = [] if include_closed else latest(engine, scope.message_partition, scope.session, wanted)
    if not found:
        with engine.store.read() as work:
            partition = talk_partition(work, scope)
            if include_closed:
                found = list(work.messages.latest(Visibility((partition,), None), scope.session, wanted))
        if not include_closed and partition != scope.message_partition:
            found = latest(engine, partition, scope.session, wanted)
    return [message for message in found if message.private_agent in (None, scope.agent)]


def talk_partition(work: UnitOfWork, scope: Scope) -> Partition:
    """The partition of the session's messages: the session's own if it is ephemeral, else the user's."""
    if scope.user is None or scope.session is None:
        return scope.message_partition
    own = scope.partition(Level.SESSION)
    return scope.message_partition if work.conversations.get(own, scope.session) is None else own


def latest(engine: Engine, partition: Partition, session: str, limit: int) -> list[Message]:
    """The messages from the `Window` port, or without one from the store."""
    now = engine.clock.now()
    if engine.window is not None:
        return engine.window.latest(partition, session, limit, now)
    with engine.store.read() as work:
        messages = work.messages.latest(Visibility((partition,), None), session, limit)
    return within_ttl(messages, now, engine.settings.life.window_ttl_s)
