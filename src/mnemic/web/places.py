"""How many connections one address, and all of them together, may hold open, whether or not they ask anything.

A newcomer takes the place of whoever has been idle longest: between two requests, or before a whole head has come. Only
where nobody is idle, since each is being answered, is the newcomer refused.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Protocol

IPV6_HOLDER_BITS = 64
"""Whoever has an address of IPv6 has this network of them."""


class Entered(Enum):
    """Whether a connection has a place."""

    YES = "yes"
    ADDRESS_FULL = "address_full"
    ALL_FULL = "all_full"


class Held(Protocol):
    """A connection that holds a place."""

    def make_room(self) -> None:
        """End at once; it is idle."""
        ...


class Places:
    """The places of one server. `most` connections in all, and `most_of_address` of one address of another machine;
    0 is no limit. A network of 64 bits counts as one address of IPv6. The addresses of this machine share `most`
    alone: behind a proxy on it, everybody comes from there. Not safe to use from several threads.
    """

    def __init__(self, most: int = 0, most_of_address: int = 0) -> None:
        self._most, self._most_of_address = most, most_of_address
        self._holders: dict[Held, str] = {}
        self._of_address: Counter[str] = Counter()
        self._idle: dict[Held, None] = {}  # longest idle first

    def __len__(self) -> int:
        return len(self._holders)

    def enter(self, held: Held, address: str) -> Entered:
        """Give an idle connection a place, where need be that of another; it has none unless the answer is YES."""
        holder = holder_of(address)
        is_address_full = bool(holder) and 0 < self._most_of_address <= self._of_address[holder]
        if is_address_full and not self._make_room(holder):
            return Entered.ADDRESS_FULL
        if 0 < self._most <= len(self._holders) and not self._make_room(None):
            return Entered.ALL_FULL
        self._holders[held] = holder
        self._of_address[holder] += 1
        self._idle[held] = None
        return Entered.YES

    def leave(self, held: Held) -> None:
        """Give the place back; one that has none changes nothing."""
        holder = self._holders.pop(held, None)
        if holder is None:
            return
        self._idle.pop(held, None)
        self._of_address[holder] -= 1
        if not self._of_address[holder]:
            del self._of_address[holder]

    def busy(self, held: Held) -> None:
        """A request of this connection is being answered from now on."""
        self._idle.pop(held, None)

    def idle(self, held: Held) -> None:
        """It has been answered."""
        if held in self._holders:
            self._idle.pop(held, None)
            self._idle[held] = None

    def _make_room(self, holder: str | None) -> bool:
        """End the connection that has been idle longest, of one holder or of all; False when none is idle."""
        found = next((each for each in self._idle if holder is None or self._holders[each] == holder), None)
        if found is None:
            return False
        self.leave(found)
        found.make_room()
        return True


def holder_of(address: str) -> str:
    """Who is counted for an address: itself, its network of IPv6, or "" for this machine and for what is no address."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif not ip.is_loopback:
            return str(IPv6Address(int(ip) >> IPV6_HOLDER_BITS << IPV6_HOLDER_BITS))
    return "" if ip.is_loopback else str(ip)
