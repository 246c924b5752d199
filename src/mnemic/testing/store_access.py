"""What `Keys`, `Tokens` and `Audit` promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mnemic.errors import ConflictError, UnsupportedError
from mnemic.model.records import ALL_RIGHTS, ERASED, ApiKey, AuditEntry, KeptToken, Right, TokenKind
from mnemic.ports.store import Store
from mnemic.testing.samples import MINUTE, NOW, new_id

ORG, OTHER = "acme", "other"


def a_key(org: str = ORG, **changes: Any) -> ApiKey:
    """A key with every right that never ends."""
    key = ApiKey(id=new_id(), org=org, secret_hash="ab" * 32, rights=ALL_RIGHTS, created_at=NOW)
    return replace(key, **changes)


def a_note(verb: str = "remember", org: str = ORG, **changes: Any) -> AuditEntry:
    """Something that was done at `NOW`."""
    return replace(AuditEntry(org=org, at=NOW, actor="key-1", verb=verb, target="memory-1"), **changes)


def a_token(hash: str = "ab" * 32, org: str = ORG, **changes: Any) -> KeptToken:
    """A code that expires at `NOW`."""
    token = KeptToken(
        hash=hash, kind=TokenKind.CODE, connection="c1", org=org, key_id="k1", client="cd" * 32, expires_at=NOW
    )
    return replace(token, **changes)


def add_keys(store: Store, *keys: ApiKey) -> None:
    """Store keys in one unit of work."""
    with store.write() as work:
        for key in keys:
            work.keys.add(key)


def keys_of(store: Store, org: str = ORG) -> list[ApiKey]:
    """The keys of an org."""
    with store.read() as work:
        return work.keys.list(org)


def notes_of(store: Store, org: str = ORG, before: int | None = None, limit: int = 100) -> list[tuple[int, AuditEntry]]:
    """The audit log of an org."""
    with store.read() as work:
        return work.audit.list(org, before, limit)


class KeysContract:
    """Tests of `Keys`; each takes an empty open store."""

    def test_keys_return_as_they_were_added_in_that_order(self, store: Store):
        plain = a_key(rights=frozenset())
        full = a_key(
            name="Ω 'x'", user="anna", agent="jarvis", rights=frozenset({Right.READ}), expires_at=NOW, revoked_at=NOW
        )
        add_keys(store, full, plain)
        assert keys_of(store) == [full, plain]

    def test_a_key_is_found_by_its_id_whichever_its_org(self, store: Store):
        key = a_key(OTHER)
        add_keys(store, key, a_key())
        with store.read() as work:
            assert work.keys.get(key.id) == key
            assert work.keys.get("unknown") is None

    def test_an_org_lists_its_own_keys_alone(self, store: Store):
        add_keys(store, a_key(OTHER))
        assert keys_of(store) == []

    def test_an_id_is_taken_in_every_org_at_once(self, store: Store):
        key = a_key()
        add_keys(store, key)
        with pytest.raises(ConflictError):
            add_keys(store, replace(key, org=OTHER))
        assert keys_of(store) == [key]

    def test_the_ends_of_a_key_come_nearer_and_never_farther(self, store: Store):
        key = a_key(expires_at=NOW + 2 * MINUTE)
        add_keys(store, key)
        with store.write() as work:
            assert work.keys.end(ORG, key.id, expires_at=NOW + MINUTE)
            assert work.keys.end(ORG, key.id, expires_at=NOW + 3 * MINUTE)
            assert work.keys.end(ORG, key.id, revoked_at=NOW)
            assert work.keys.end(ORG, key.id, revoked_at=NOW + MINUTE)
        assert keys_of(store) == [replace(key, expires_at=NOW + MINUTE, revoked_at=NOW)]

    def test_a_blanked_key_is_revoked_and_names_nobody(self, store: Store):
        key, other = a_key(user="ana", name="phone of Ana"), a_key(OTHER, user="ana")
        add_keys(store, key, other)
        with store.write() as work:
            work.keys.blank(ORG, key.id, NOW)
            work.keys.blank(ORG, key.id, NOW + MINUTE)
            work.keys.blank(ORG, other.id, NOW)
        assert keys_of(store) == [replace(key, name="", user=ERASED, revoked_at=NOW)]
        with store.read() as work:
            assert work.keys.get(other.id) == other

    def test_nobody_ends_a_key_of_another_org(self, store: Store):
        key = a_key()
        add_keys(store, key)
        with store.write() as work:
            assert not work.keys.end(OTHER, key.id, revoked_at=NOW)
            assert not work.keys.end(ORG, "unknown", revoked_at=NOW)
        assert keys_of(store) == [key]

    def test_a_store_knows_whether_there_ever_was_a_key(self, store: Store):
        with store.read() as work:
            assert not work.keys.has_any()
        add_keys(store, a_key(OTHER, revoked_at=NOW))
        with store.read() as work:
            assert work.keys.has_any()

    def test_a_reading_unit_of_work_changes_no_key(self, store: Store):
        add_keys(store, key := a_key())
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.keys.add(a_key())
            with pytest.raises(UnsupportedError):
                work.keys.end(ORG, key.id, revoked_at=NOW)


class TokensContract:
    """Tests of `Tokens`; each takes an empty open store."""

    def test_a_token_is_found_by_its_hash_whichever_its_org(self, store: Store):
        full = a_token("01", OTHER, kind=TokenKind.REFRESH, details='{"Ω": "x"}')
        with store.write() as work:
            work.tokens.add([a_token(), full])
        with store.read() as work:
            assert work.tokens.get("01") == full
            assert work.tokens.get("02") is None

    def test_a_token_is_removed_once_and_by_its_org_alone(self, store: Store):
        with store.write() as work:
            work.tokens.add([a_token("01")])
            assert not work.tokens.remove(OTHER, "01")
            assert work.tokens.remove(ORG, "01")
            assert not work.tokens.remove(ORG, "01")
        with store.read() as work:
            assert work.tokens.get("01") is None

    def test_a_connection_ends_with_all_of_its_tokens(self, store: Store):
        with store.write() as work:
            work.tokens.add([a_token("01"), a_token("02"), a_token("03", connection="c2")])
            assert [work.tokens.has(each) for each in ("c1", "c2", "c3")] == [True, True, False]
            assert work.tokens.end("c1") == 2
            assert not work.tokens.has("c1")
            assert [work.tokens.get(each) is None for each in ("01", "02", "03")] == [True, True, False]

    def test_a_blanked_key_has_no_tokens(self, store: Store):
        key = a_key()
        add_keys(store, key)
        with store.write() as work:
            work.tokens.add([a_token("01", key_id=key.id), a_token("02"), a_token("03", OTHER, key_id=key.id)])
            work.keys.blank(ORG, key.id, NOW)
            assert [work.tokens.get(each) is None for each in ("01", "02", "03")] == [True, False, False]

    def test_expired_tokens_of_every_org_are_forgotten(self, store: Store):
        with store.write() as work:
            work.tokens.add([a_token("01"), a_token("02", OTHER), a_token("03", expires_at=NOW + MINUTE)])
            assert work.tokens.forget(NOW) == 0
            assert work.tokens.forget(NOW + MINUTE) == 2
            assert work.tokens.get("03") is not None

    def test_a_reading_unit_of_work_changes_no_token(self, store: Store):
        with store.write() as work:
            work.tokens.add([a_token("01")])
        with store.read() as work:
            for change in (
                lambda: work.tokens.add([a_token("02")]),
                lambda: work.tokens.remove(ORG, "01"),
                lambda: work.tokens.end("c1"),
                lambda: work.tokens.forget(NOW),
            ):
                with pytest.raises(UnsupportedError):
                    change()


class AuditContract:
    """Tests of `Audit`; each takes an empty open store."""

    def test_notes_come_newest_first_and_page_by_page(self, store: Store):
        notes = [a_note(verb, target="Ω 'x'", outcome="forbidden") for verb in ("one", "two", "three")]
        with store.write() as work:
            work.audit.add(notes[:2])
        with store.write() as work:
            work.audit.add(notes[2:])
        page = notes_of(store, limit=2)
        assert [note for _, note in page] == notes[:0:-1]
        assert [note for _, note in notes_of(store, before=page[-1][0])] == notes[:1]

    def test_an_org_sees_its_own_notes_alone(self, store: Store):
        with store.write() as work:
            work.audit.add([a_note(org=OTHER), a_note()])
        assert [note for _, note in notes_of(store)] == [a_note()]

    def test_old_notes_of_every_org_are_forgotten(self, store: Store):
        with store.write() as work:
            work.audit.add([a_note(), a_note(org=OTHER), a_note(at=NOW + MINUTE)])
            assert work.audit.forget(NOW + MINUTE) == 2
        assert [note for _, note in notes_of(store)] == [a_note(at=NOW + MINUTE)]

    def test_a_reading_unit_of_work_notes_nothing(self, store: Store):
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.audit.add([a_note()])
            with pytest.raises(UnsupportedError):
                work.audit.forget(NOW)
