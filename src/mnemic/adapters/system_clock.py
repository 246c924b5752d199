"""The clock of the machine."""

from datetime import UTC, datetime

from mnemic.ports.observer import Clock


class SystemClock:
    """The `Clock` port over the operating system."""

    def now(self) -> datetime:
        return datetime.now(UTC)


_: type[Clock] = SystemClock
