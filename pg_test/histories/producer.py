"""A producer: jobs by function, by array, by INSERT and by COPY; now and ahead; committed or not."""

import time

from histories import mix
from histories.client import XID, Client
from histories.wire import copy_field
from histories.worker import ENQUEUE_MANY

ENQUEUE = (
    "SELECT jsonb_build_array(turnstile.enqueue(%(kind)s, %(payload)s, %(queue)s, %(tenant)s, %(account)s, %(session)s,"
    " %(concurrency_key)s, %(priority)s, clock_timestamp() + %(ahead)s::interval, %(max_attempts)s, %(unique_key)s,"
    f" %(unique_mode)s, %(unique_for)s::interval)), {XID}"
)
BATCH = (
    "SELECT jsonb_build_array(turnstile.enqueue_batch(%(kind)s, children => %(children)s, slots => %(slots)s, max_failed => %(max_failed)s,"
    " on_end => %(on_end)s, queue => %(queue)s, tenant => %(tenant)s, account => %(account)s, session => %(session)s,"
    " concurrency_key => %(concurrency_key)s, priority => %(priority)s, max_attempts => %(max_attempts)s, parent => %(parent)s,"
    f" after => %(after)s, after_any_end => %(any_end)s, after_hold => %(hold)s)), {XID}"
)
FOLLOWER = (
    "SELECT jsonb_build_array(turnstile.enqueue(%(kind)s, queue => %(queue)s, tenant => %(tenant)s, priority => %(priority)s,"
    f" max_attempts => %(max_attempts)s, after => %(after)s, after_any_end => %(any_end)s, after_hold => %(hold)s)), {XID}"
)
COLUMNS = ["kind", "queue", "tenant", "account", "session", "concurrency_key", "priority", "max_attempts", "payload"]
INSERT = (
    f"WITH made AS (INSERT INTO turnstile.job ({', '.join(COLUMNS)})"
    f" SELECT {', '.join(COLUMNS)} FROM jsonb_populate_recordset(NULL::turnstile.job, %(jobs)s) RETURNING id)"
    f" SELECT jsonb_agg(id), {XID} FROM made"
)
# What an enqueue is not told.
NOTHING = dict.fromkeys(["queue", "tenant", "account", "session", "concurrency_key", "ahead", "unique_key", "unique_mode", "unique_for"])
NO_TIES = {"parent": None, "after": None, "any_end": False, "hold": False}


class Producer(Client):
    def __init__(self, station, name: str, seed: int):
        super().__init__(station, name, seed)
        # Jobs and parents that it has made of late, if nobody has undone that; followers come after these.
        self.made: list[int] = []
        self.parents: list[int] = []

    def step(self) -> None:
        if self.station.is_full():
            time.sleep(0.02)
            return
        chance = self.chance.random()
        if chance < 0.005:
            self.be_impatient()
        elif chance < 0.13:
            self.block(self.chance.randint(1, 6), self.produce)
        else:
            self.produce()
        self.station.rest(self.chance)

    def produce(self) -> None:
        batches = [self.batch, self.batch, self.follow, self.add, self.graph]
        self.chance.choice([*[self.one] * 6, *[self.many, self.insert, self.copy] * 2, *batches])()

    def job(self) -> dict:
        """A job for the functions: plain DML does not look after unique keys."""
        return mix.to_be_routed(self.chance, mix.with_unique_key(self.chance, mix.job(self.chance, self.next_me)))

    def jobs(self, most: int) -> list[dict]:
        return [mix.job(self.chance, self.next_me) for _ in range(self.chance.randint(1, most))]

    def one(self) -> None:
        job = self.job()
        if self.chance.random() < 0.2:
            job["ahead"] = f"{self.chance.randint(0, 2000)} milliseconds"
        self.made = [*self.made[-9:], *self.call("enqueue", ENQUEUE, NOTHING | job, jobs=1, unique="unique_key" in job)]

    def batch(self) -> None:
        """A job with children; now and then itself a child, or after others."""
        parent, children = mix.batch(self.chance, self.next_me)
        ties = NO_TIES
        if self.parents and self.chance.random() < 0.2:
            ties = ties | {"parent": self.chance.choice(self.parents)}
            parent.pop("session", None)
            children = [{name: value for name, value in child.items() if name != "session"} for child in children]
        elif self.made and "session" not in parent and self.chance.random() < 0.2:
            ties = self.ties()
        values = NOTHING | parent | ties | {"children": children or "[]"}
        found = self.call("enqueue_batch", BATCH, values, jobs=1 + len(children), children=len(children), **ties)
        self.parents = [*self.parents[-4:], *found]
        if ties["parent"] is None:
            self.made = [*self.made[-9:], *found]

    def follow(self) -> None:
        """A job that nobody waits for but its own followers, after others."""
        if not self.made:
            return
        job = mix.job(self.chance, self.next_me)
        ties = self.ties()
        self.made = [*self.made[-9:], *self.call("enqueue", FOLLOWER, NOTHING | job | ties, jobs=1, **ties)]

    def ties(self) -> dict:
        after = self.chance.sample(self.made, min(len(self.made), self.chance.randint(1, 2)))
        how = self.chance.choice([{}, {}, {"any_end": True}, {"any_end": True}, {"hold": True}])
        return NO_TIES | {"after": after} | how

    def graph(self) -> None:
        """Jobs of one call that come after each other by local names, in any order; `places` tells which after which."""
        jobs = [mix.job(self.chance, self.next_me) | {"ref": f"r{n}"} for n in range(self.chance.randint(2, 6))]
        ranks = list(range(len(jobs)))
        self.chance.shuffle(ranks)
        places = [[n for n in range(len(jobs)) if ranks[n] < rank and self.chance.random() < 0.4] for rank in ranks]
        for job, before in zip(jobs, places, strict=True):
            if before:
                job["after_refs"] = [f"r{n}" for n in before]
        self.call("enqueue_many", ENQUEUE_MANY, {"jobs": jobs}, jobs=len(jobs), places=places)

    def add(self) -> None:
        """A child from outside; the parent may have ended, or take none."""
        if self.parents:
            parent = self.chance.choice(self.parents)
            jobs = [mix.child_of(self.chance, self.next_me, parent)]
            self.call("enqueue_many", ENQUEUE_MANY, {"jobs": jobs}, jobs=1, parents=[parent])

    def many(self) -> None:
        jobs = [self.job() for _ in range(self.chance.randint(1, 12))]
        unique = any("unique_key" in job for job in jobs)
        self.call("enqueue_many", ENQUEUE_MANY, {"jobs": jobs}, jobs=len(jobs), unique=unique)

    def insert(self) -> None:
        jobs = self.jobs(6)
        self.call("insert", INSERT, {"jobs": jobs}, jobs=len(jobs))

    def copy(self) -> None:
        """COPY tells no ids: the kind of the rows tells where they came from."""
        jobs = self.jobs(8)

        def rows():
            lines = ["\t".join(copy_field(job.get(name)) for name in COLUMNS) for job in jobs]
            self.conn.copy(f"COPY turnstile.job ({', '.join(COLUMNS)}) FROM STDIN", lines)
            return None, None

        self.logged("copy", {"jobs": len(jobs)}, rows)
