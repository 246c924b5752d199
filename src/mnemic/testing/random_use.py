"""Random operations on a store: every port, several orgs, users, agents and sessions, missing parts, private rows.

An operation is decided before it runs, so that two stores can be asked the very same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

from mnemic.model.chat import Usage
from mnemic.model.item import CURSORS, ProfileEntry
from mnemic.model.records import Job, JobState
from mnemic.ports.store import MAIN_VIEW, Reading, UnitOfWork
from mnemic.testing.observation import SCHEDULES
from mnemic.testing.random_documents import Operation, RandomDocuments
from mnemic.testing.random_nouns import KEYS, TEXTS
from mnemic.testing.samples import ANALYSER, MINUTE, SPACE, a_job, a_message, a_vector, an_entry, new_id, terms

KINDS = ("curate", "decay")
WORKERS = ("w1", "w2")


@dataclass(slots=True)
class RandomUse(RandomDocuments):
    """Decides operations on every port."""

    claimed: list[Job] = field(default_factory=list[Job])

    def writing(self) -> Operation:
        """One operation that writes."""
        kinds = (self._add_memory,) * 3 + (self._add_message,) * 2
        kinds += (self._replace, self._touch, self._erase_memory, self._erase_message, self._put_vector)
        kinds += (self._add_job, self._claim, self._release, self._retry, self._add_history, self._scrub)
        kinds += (self._put_fact, self._remove_fact, self._fade, self._move, self._upkeep)
        kinds += (self.put_document, self.fill_document, self.fill_document, self.erase_document)
        return self.random.choice(kinds)()

    def reading(self) -> Operation:
        """One operation that reads."""
        kinds = (self._list,) * 4 + (self._get, self._said, self._changes, self._vectors, self._jobs, self._history)
        kinds += (self._worked_on, self.read_documents)
        return self.random.choice(kinds)()

    def _add_memory(self) -> Operation:
        memory = self.memory(self.partition())
        self.memory_ids.append(memory.id)
        twin = replace(memory, id=new_id())
        return lambda work: work.memories.add([(memory, terms(memory.text)), (twin, terms("twin"))])

    def _add_message(self) -> Operation:
        scope = self.random.choice([scope for scope in self.scopes if scope.session is not None])
        external = self.random.choice((None, None, "x1", "x2"))
        message = a_message(1, self.random.choice(TEXTS), scope, external_id=external, observed_at=self.moment())
        self.message_ids.append(message.id)
        metadata = self.metadata()

        def add(work: UnitOfWork) -> object:
            place = work.messages.conversation(message.partition, message.session, self.now)
            placed = replace(
                message, position=place.messages + 1, turn=place.turns + 1, metadata=metadata, bookkeeping=metadata
            )
            work.messages.add([(placed, terms(placed.text))])
            return place

        return add

    def _replace(self) -> Operation:
        item_id, scope, new = self.known(self.memory_ids), self.scope(), self.memory(self.partition())
        step = timedelta(microseconds=self.random.randint(0, 1))
        is_new_text = self.random.choice((True, False))

        def change(work: UnitOfWork) -> object:
            found = work.memories.get(scope.visibility, [item_id])
            if not found:
                return found
            old = found[0]
            text = new.text if is_new_text else old.text
            changed = replace(new, id=old.id, partition=old.partition, text=text)
            return work.memories.replace(changed, terms(text), old.updated_at + step)

        return change

    def _touch(self) -> Operation:
        partition, accesses, at = self.partition(), {self.known(self.memory_ids): 2}, self.moment()
        return lambda work: work.memories.touch(partition, accesses, at)

    def _erase_memory(self) -> Operation:
        partition, item_id = self.partition(), self.known(self.memory_ids)
        return lambda work: work.memories.erase(partition, [item_id, item_id], self.now)

    def _erase_message(self) -> Operation:
        partition, item_id = self.partition(), self.known(self.message_ids)
        return lambda work: work.messages.erase(partition, [item_id])

    def _put_vector(self) -> Operation:
        item_id, scope = self.known(self.item_ids), self.scope()
        view, space = self.random.choice((MAIN_VIEW, "window")), self.random.choice((SPACE, SPACE, "another"))
        row = a_vector(item_id, 1, self.random.randint(0, 3), self.random.choice((0.5, 0.1)), view=view, space=space)
        wrong = replace(row, vector=row.vector[:2])
        rows = self.random.choice(([row],) * 5 + ([row, wrong],))
        at = self.now

        def put(work: UnitOfWork) -> object:
            return [work.vectors.put(partition, rows, at) for partition in scope.visibility.partitions]

        return put

    def _add_job(self) -> Operation:
        pick = self.random.choice
        job = a_job(pick(("1", "2")), self.partition(), kind=pick(KINDS), run_at=self.moment())
        return lambda work: work.jobs.add([job])

    def _claim(self) -> Operation:
        worker, now = self.random.choice(WORKERS), self.now

        def claim(work: UnitOfWork) -> object:
            job = work.jobs.claim(KINDS, worker, now, now + MINUTE)
            if job is not None and job not in self.claimed:
                self.claimed.append(job)
            return job

        return claim

    def _release(self) -> Operation:
        job = self.random.choice((*self.claimed[-5:], replace(a_job(), worker="w1")))
        job = replace(job, usage=job.usage + Usage(1, self.random.randint(0, 99), 7, 0.1))
        action = self.random.randint(0, 2)
        if action == 0:
            return lambda work: work.jobs.finish(job)
        retry_at = None if action == 1 else self.moment()
        return lambda work: work.jobs.fail(job, "it failed", retry_at)

    def _retry(self) -> Operation:
        ids, partitions = [job.id for job in self.claimed[-9:]], self.random.choice((None, [self.partition()]))
        return lambda work: work.jobs.retry(partitions, ids, self.now)

    def _add_history(self) -> Operation:
        entry = an_entry(self.known((*self.item_ids, *self.document_ids[-20:])), self.partition())
        return lambda work: work.history.add([entry])

    def _scrub(self) -> Operation:
        partition, ids = self.partition(), [self.known(self.memory_ids), self.known(self.message_ids)]
        return lambda work: work.history.scrub(partition, ids)

    def _put_fact(self) -> Operation:
        pick = self.random.choice
        entry = ProfileEntry(self.partition(), pick(KEYS), pick(TEXTS), "library", self.moment(), self.now)
        return lambda work: work.profiles.put([entry])

    def _remove_fact(self) -> Operation:
        partition, keys = self.partition(), self.random.sample(KEYS, 2)
        return lambda work: work.profiles.remove(partition, keys)

    def _fade(self) -> Operation:
        partition, faded = self.partition(), self.random.choice((None, 0.0, 0.1, 0.6))
        values = {self.known(self.memory_ids): faded for _ in range(3)}
        return lambda work: work.upkeep.fade(partition, values)

    def _move(self) -> Operation:
        (partition, session), name = self.conversation(), self.random.choice(CURSORS)
        was, to = self.random.randint(0, 1), self.random.randint(0, 2)
        return lambda work: work.conversations.move(partition, session, name, was, to)

    def _upkeep(self) -> Operation:
        schedule, was, at = self.random.choice(SCHEDULES), self.random.choice((None, self.now)), self.moment()
        return lambda work: (work.upkeep.start_run(schedule, was, at), work.upkeep.forget_jobs(at))

    def _list(self) -> Operation:
        visible, query = self.scope().visibility, self.query()
        return lambda work: (sorted(work.memories.ids(visible, query)), work.memories.list(visible, query))

    def _get(self) -> Operation:
        visible, ids = self.scope().visibility, [self.known(self.memory_ids) for _ in range(3)]
        partition, agent, text = self.partition(), self.random.choice((None, "jarvis")), self.random.choice(TEXTS)
        return lambda work: (work.memories.get(visible, ids), work.memories.holder(partition, agent, text))

    def _said(self) -> Operation:
        scope, ids = self.scope(), [self.known(self.message_ids) for _ in range(3)]
        visible, session, limit = scope.visibility, scope.session or "s1", self.random.randint(0, 4)
        turn, partition = f"turn-{self.random.randint(1, 3)}", self.partition()
        return lambda work: (
            work.messages.get(visible, ids),
            work.messages.latest(visible, session, limit),
            work.messages.of_turn(visible, turn),
            work.messages.by_external_id(partition, session, ["x1", "x2"]),
        )

    def _worked_on(self) -> Operation:
        (partition, session), name = self.conversation(), self.random.choice(CURSORS)
        after, limit, since = self.random.randint(0, 2), self.random.randint(0, 4), self.moment()
        return lambda work: (
            work.conversations.get(partition, session),
            work.conversations.messages(partition, session, after, limit),
            work.conversations.cursor(partition, session, name),
            work.upkeep.idle(name, since, limit),
            [work.upkeep.last_run(schedule) for schedule in SCHEDULES],
        )

    def _changes(self) -> Operation:
        partition, since = self.partition(), self.random.choice((0, 1, 1, 2, 3))
        space, analyser = self.random.choice((None, SPACE, "another")), self.random.choice((ANALYSER, "other"))
        return lambda work: (
            list(work.partitions.changes(partition, since, Reading(space, analyser))),
            work.partitions.versions([partition]),
            work.partitions.count([partition]),
            work.partitions.all(),
        )

    def _vectors(self) -> Operation:
        partition, space = self.partition(), self.random.choice((SPACE, "another"))
        ids, limit = [self.known(self.item_ids) for _ in range(3)], self.random.randint(0, 5)
        return lambda work: (
            work.vectors.get(partition, ids, MAIN_VIEW, space),
            work.vectors.missing(partition, space, limit),
            work.vectors.spaces(),
            work.vectors.known(),
            work.vectors.coverage(partition, space),
            work.vectors.alone(partition, space, ["another"]),
        )

    def _jobs(self) -> Operation:
        partitions, limit = self.random.choice((None, [self.partition()])), self.random.randint(0, 5)
        states = self.random.sample(tuple(JobState), self.random.randint(0, 4))
        return lambda work: work.jobs.list(partitions, states, limit)

    def _history(self) -> Operation:
        visible, item_id = self.scope().visibility, self.known((*self.item_ids, *self.document_ids[-20:]))
        partition = self.partition()
        return lambda work: (work.history.of(visible, item_id), work.profiles.of(partition))
