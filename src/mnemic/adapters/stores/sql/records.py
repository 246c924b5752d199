"""Jobs, history, profiles, upkeep, keys, the audit log and requests over SQL."""

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from mnemic.adapters.stores.sql.dialect import (
    AUDIT,
    CONVERSATION,
    HISTORY,
    JOB,
    KEY,
    MEMORY,
    PROFILE,
    REQUEST,
    SHOWN,
    TOKEN,
)
from mnemic.adapters.stores.sql.session import SqlPort
from mnemic.errors import ConflictError
from mnemic.model.columns import dumps, micros, moment, to_plain
from mnemic.model.item import Conversation, Memory, Message, ProfileEntry
from mnemic.model.recall import ContextQuery, ContextRecord
from mnemic.model.records import (
    ERASED,
    ApiKey,
    AuditEntry,
    HistoryEntry,
    Job,
    JobState,
    KeptRequest,
    KeptToken,
    Outcome,
)
from mnemic.model.scope import Level, Partition, Visibility, to_microseconds


class SqlJobs(SqlPort, topic="jobs"):
    """The `Jobs` port. A claim locks only its job and skips jobs that others are claiming."""

    def add(self, jobs: Sequence[Job]) -> list[bool]:
        pids = self._session.lock(job.partition for job in jobs)
        return [self._add(job, pids[job.partition]) for job in jobs]

    def claim(self, kinds: Sequence[str], worker: str, now: datetime, leased_until: datetime) -> Job | None:
        key = {
            "kinds": self._session.list_values(kinds),
            "worker": worker,
            "now": to_microseconds(now),
            "leased_until": to_microseconds(leased_until),
        }
        claimed = self._session.write_across(self._sql["claim"], key).fetchone()
        if claimed is None:
            return None
        sql = self._sql["select"] + "\n" + self._sql["where_seq"]
        row = self._session.run_across(sql, {"seq": claimed[0]}).fetchone()
        return None if row is None else JOB.noun(row)

    def finish(self, job: Job) -> bool:
        return self._session.write(self._sql["finish"], self._lease(job)).rowcount == 1

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        state = JobState.DEAD if retry_at is None else JobState.PENDING
        key = {**self._lease(job), "state": state.value, "retry_at": micros(retry_at), "error": error}
        return self._session.write(self._sql["fail"], key).rowcount == 1

    def list(
        self, partitions: Sequence[Partition] | None, states: Sequence[JobState], limit: int
    ) -> builtins.list[Job]:
        key = {
            "pids": None if partitions is None else self._session.pids(partitions),
            "states": self._session.list_values(state.value for state in states),
            "limit": limit,
        }
        run = self._session.run_across if partitions is None else self._session.run
        return [JOB.noun(row) for row in run(self._sql["select"] + "\n" + self._sql["where_listed"], key)]

    def retry(self, partitions: Sequence[Partition] | None, ids: Sequence[str], now: datetime) -> int:
        self._session.check_writing()
        key = {
            "pids": None if partitions is None else self._session.pids(partitions),
            "ids": self._session.list_values(ids),
            "now": to_microseconds(now),
        }
        run = self._session.run_across if partitions is None else self._session.run
        lock = self._session.statements("partitions").get("lock_of_dead_jobs")
        if lock:
            key["pids"] = [row[0] for row in run(lock, key)]
        return run(self._sql["retry"], key).rowcount

    def _add(self, job: Job, pid: int) -> bool:
        columns = {**JOB.row(job), "pid": pid}
        if self._session.write_each(self._sql["insert"], [columns])[0]:
            return True
        # SQLite raises for a taken id; PostgreSQL does not say what was taken.
        is_open = self._sql.get("is_open")
        if is_open and self._session.run(is_open, columns).fetchone() is None:
            raise ConflictError(f"job {job.id} cannot be stored: the id is already in use")
        return False

    def _lease(self, job: Job) -> dict[str, object]:
        self._session.check_writing()
        pid, usage = self._session.pid(job.partition), dumps(to_plain(job.usage))
        return {"pid": pid, "id": job.id, "worker": job.worker, "attempts": job.attempts, "usage": usage}


class SqlHistory(SqlPort, topic="history"):
    """The `History` port."""

    def add(self, entries: Sequence[HistoryEntry]) -> None:
        pids = self._session.lock(entry.partition for entry in entries)
        columns = [{**HISTORY.row(entry), "pid": pids[entry.partition]} for entry in entries]
        is_new = self._session.write_each(self._sql["insert"], columns)
        for entry, new in zip(entries, is_new, strict=True):
            if not new:
                raise ConflictError(f"history entry {entry.id} cannot be stored: the id is already in use")

    def of(self, visible: Visibility, item_id: str) -> list[HistoryEntry]:
        rows = self._session.run(self._sql["of"], self._session.visible(visible, item_id=item_id))
        return [HISTORY.noun(row) for row in rows]

    def scrub(self, partition: Partition, item_ids: Sequence[str]) -> int:
        self._session.check_writing()
        self._session.erased.add((partition, False))
        key = {"pid": self._session.pid(partition), "item_ids": self._session.list_values(item_ids)}
        return self._session.write(self._sql["scrub"], key).rowcount


class SqlProfiles(SqlPort, topic="profiles"):
    """The `Profiles` port."""

    def put(self, entries: Sequence[ProfileEntry]) -> None:
        pids = self._session.lock(entry.partition for entry in entries)
        columns = [{**PROFILE.row(entry), "pid": pids[entry.partition]} for entry in entries]
        self._session.write_each(self._sql["put"], columns)

    def of(self, partition: Partition) -> list[ProfileEntry]:
        rows = self._session.run(self._sql["of"], {"pid": self._session.pid(partition)})
        return [PROFILE.noun(row) for row in rows]

    def remove(self, partition: Partition, keys: Sequence[str]) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "keys": self._session.list_values(keys)}
        return self._session.write(self._sql["remove"], key).rowcount


class SqlUpkeep(SqlPort, topic="upkeep"):
    """The `Upkeep` port."""

    def idle(self, cursor: str, since: datetime, limit: int, within: Partition | None = None) -> list[Conversation]:
        key: dict[str, object] = {"cursor": cursor, "since": to_microseconds(since), "limit": limit}
        if within is None:
            rows = self._session.run_across("\n".join((self._sql["idle"], self._sql["idle_order"])), key)
        else:
            key["pid"] = self._session.look_up_pid(within)
            rows = self._session.run("\n".join(self._sql[name] for name in ("idle", "idle_of", "idle_order")), key)
        return [CONVERSATION.noun(row) for row in rows]

    def memories(self, partition: Partition, after: str, limit: int) -> list[Memory]:
        key = {"pid": self._session.pid(partition), "after": after, "limit": limit}
        sql = self._session.statements("memories")["select"] + "\n" + self._sql["memories"]
        return [MEMORY.noun(row) for row in self._session.run(sql, key)]

    def private_agents(self, partition: Partition) -> list[str]:
        key = {"pid": self._session.pid(partition)}
        return [str(row[0]) for row in self._session.run(self._sql["private_agents"], key)]

    def fade(self, partition: Partition, values: Mapping[str, float | None]) -> None:
        self._session.check_writing()
        pid = self._session.pid(partition)
        rows = [{"pid": pid, "id": item_id, "faded": faded} for item_id, faded in values.items()]
        self._session.write_each(self._sql["fade"], rows)

    def last_run(self, schedule: str) -> datetime | None:
        row = self._session.run(self._sql["last_run"], {"name": schedule}).fetchone()
        return None if row is None else moment(row[0])

    def start_run(self, schedule: str, was: datetime | None, at: datetime) -> bool:
        key = {"name": schedule, "was": micros(was), "at": to_microseconds(at)}
        return self._session.write(self._sql["first_run" if was is None else "next_run"], key).rowcount == 1

    def unserved(self, orgs: Collection[str]) -> dict[str, bool]:
        self._session.see(*orgs)
        asked = {"orgs": self._session.list_values(sorted(orgs))}
        if self._session.is_writing and (hold := self._session.statements("placements").get("hold")):
            self._session.run(hold, asked)  # a move that starts now waits until this transaction ends
        return {str(org): bool(is_stopped) for org, is_stopped in self._session.run(self._sql["unserved"], asked)}

    def forget_jobs(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget_jobs"], {"before": to_microseconds(before)}).rowcount


class SqlKeys(SqlPort, topic="access"):
    """The `Keys` port."""

    def add(self, key: ApiKey) -> None:
        self._session.enter(key.org)
        if not self._session.write_each(self._sql["insert"], [KEY.row(key)])[0]:
            raise ConflictError(f"key {key.id} cannot be stored: the id is already in use")

    def get(self, id: str) -> ApiKey | None:
        row = self._session.run_across(self._sql["get"], {"id": id}).fetchone()
        return None if row is None else KEY.noun(row)

    def list(self, org: str) -> list[ApiKey]:
        self._session.enter(org)
        return [KEY.noun(row) for row in self._session.run(self._sql["list"], {"org": org})]

    def end(self, org: str, id: str, *, expires_at: datetime | None = None, revoked_at: datetime | None = None) -> bool:
        self._session.enter(org)
        ends = {"expires_at": micros(expires_at), "revoked_at": micros(revoked_at)}
        return self._session.write(self._sql["end"], {"org": org, "id": id, **ends}).rowcount == 1

    def blank(self, org: str, id: str, at: datetime) -> None:
        self._session.enter(org)
        self._session.write(self._sql["blank"], {"org": org, "id": id, "at": micros(at), "erased": ERASED})
        self._session.write(self._session.statements("tokens")["remove_of_key"], {"org": org, "id": id})

    def has_any(self) -> bool:
        row = self._session.run_across(self._sql["has_any"]).fetchone()
        return bool(row and row[0])


class SqlTokens(SqlPort, topic="tokens"):
    """The `Tokens` port."""

    def add(self, tokens: Sequence[KeptToken]) -> None:
        self._session.enter(*(token.org for token in tokens))
        self._session.write_each(self._sql["insert"], [TOKEN.row(token) for token in tokens])

    def get(self, hash: str) -> KeptToken | None:
        row = self._session.run_across(self._sql["get"], {"hash": hash}).fetchone()
        return None if row is None else TOKEN.noun(row)

    def remove(self, org: str, hash: str) -> bool:
        self._session.enter(org)
        return self._session.write(self._sql["remove"], {"org": org, "hash": hash}).rowcount == 1

    def has(self, connection: str) -> bool:
        return self._session.run_across(self._sql["orgs"], {"connection": connection}).fetchone() is not None

    def end(self, connection: str) -> int:
        key = {"connection": connection}
        self._session.enter(*(str(row[0]) for row in self._session.run_across(self._sql["orgs"], key)))
        # Twice: in PostgreSQL, the first statement may wait for an exchange whose new tokens only the next one sees.
        return sum(self._session.write(self._sql["end"], key).rowcount for _ in range(2))

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount


class SqlAudit(SqlPort, topic="access"):
    """The `Audit` port."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        self._session.see(*(entry.org for entry in entries))
        self._session.write_each(self._sql["note"], [AUDIT.row(entry) for entry in entries])

    def list(self, org: str, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        self._session.see(org)
        asked = {"org": org, "before": before, "limit": limit}
        return [(row[-1], AUDIT.noun(row[:-1])) for row in self._session.run(self._sql["notes"], asked)]

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount


class SqlRequests(SqlPort, topic="requests"):
    """The `Requests` port."""

    def add(self, request: KeptRequest, since: datetime) -> bool:
        self._session.enter(request.org)
        asked = {**REQUEST.row(request), "since": to_microseconds(since)}
        return self._session.write(self._sql["add"], asked).rowcount == 1

    def get(self, org: str, caller: str, key: str) -> KeptRequest | None:
        self._session.enter(org)
        row = self._session.run(self._sql["get"], {"org": org, "caller": caller, "key": key}).fetchone()
        return None if row is None else REQUEST.noun(row)

    def answer(self, request: KeptRequest, outcome: Outcome, answer: bytes) -> bool:
        self._session.enter(request.org)
        given = {**REQUEST.row(request), "outcome": outcome.value, "answer": answer}
        return self._session.write(self._sql["answer"], given).rowcount == 1

    def remove(self, request: KeptRequest) -> bool:
        self._session.enter(request.org)
        return self._session.write(self._sql["remove"], REQUEST.row(request)).rowcount == 1

    def scrub(self, org: str, level: Level, owner: str, but: str) -> int:
        self._session.enter(org)
        asked = {"org": org, "level": level.value, "owner": owner, "but": but}
        return self._session.write(self._sql["scrub"], asked).rowcount

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount


class SqlContexts(SqlPort, topic="contexts"):
    """The `Contexts` port."""

    def add(self, records: Sequence[ContextRecord]) -> int:
        self._session.check_writing()
        pids = {place: self._session.pid(place) for place in sorted({each.partition for each in records})}
        rows = [{**SHOWN.row(each), "pid": pids[each.partition]} for each in records if pids[each.partition]]
        return sum(self._session.write_each(self._sql["insert"], rows))

    def list(self, visible: Visibility, query: ContextQuery) -> builtins.list[ContextRecord]:
        texts = {name: getattr(query, name) for name in ("session", "message_id", "id", "after")}
        more = {**texts, "of_agent": query.agent, "limit": query.limit}
        asked = self._session.visible(visible, **more)
        return [SHOWN.noun(row) for row in self._session.run(self._sql["list"], asked)]

    def link(self, message: Message, query: str, within: timedelta) -> int:
        self._session.check_writing()
        at = message.created_at
        key = {"pid": self._session.pid(message.partition), "session": message.session, "message_id": message.id}
        span = {"since": to_microseconds(at - within), "until": to_microseconds(at + within)}
        return self._session.write(self._sql["link"], {**key, **span, "query": query}).rowcount

    def erase(self, partition: Partition, ids: Collection[str]) -> int:
        self._session.check_writing()
        key = {"pid": self._session.pid(partition), "ids": self._session.list_values(ids)}
        return self._session.write(self._sql["erase"], key).rowcount

    def forget(self, before: datetime, most: int) -> int:
        key = {"before": to_microseconds(before), "most": most}
        return self._session.write_across(self._sql["forget"], key).rowcount
