"""A producer: jobs by function, by array, by INSERT and by COPY; now and ahead; committed or not."""

import time

from histories import mix
from histories.client import XID, Client
from histories.wire import copy_field

ENQUEUE = (
    "SELECT jsonb_build_array(turnstile.enqueue(%(kind)s, %(payload)s, %(queue)s, %(tenant)s, %(account)s, %(session)s,"
    " %(concurrency_key)s, %(priority)s, clock_timestamp() + %(ahead)s::interval, %(max_attempts)s, %(unique_key)s,"
    f" coalesce(%(unique_mode)s, 'until_executed'), %(unique_for)s::interval)), {XID}"
)
COLUMNS = ["kind", "queue", "tenant", "account", "session", "concurrency_key", "priority", "max_attempts", "payload"]
INSERT = (
    f"WITH made AS (INSERT INTO turnstile.job ({', '.join(COLUMNS)})"
    f" SELECT {', '.join(COLUMNS)} FROM jsonb_populate_recordset(NULL::turnstile.job, %(jobs)s) RETURNING id)"
    f" SELECT jsonb_agg(id), {XID} FROM made"
)
# What an enqueue is not told.
NOTHING = dict.fromkeys(["queue", "tenant", "account", "session", "concurrency_key", "ahead", "unique_key", "unique_mode", "unique_for"])


class Producer(Client):
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
        self.chance.choice([self.one, self.one, self.one, self.many, self.insert, self.copy])()

    def job(self) -> dict:
        """A job for the functions: plain DML does not look after unique keys."""
        return mix.to_be_routed(self.chance, mix.with_unique_key(self.chance, mix.job(self.chance, self.next_me)))

    def jobs(self, most: int) -> list[dict]:
        return [mix.job(self.chance, self.next_me) for _ in range(self.chance.randint(1, most))]

    def one(self) -> None:
        job = self.job()
        if self.chance.random() < 0.2:
            job["ahead"] = f"{self.chance.randint(0, 2000)} milliseconds"
        self.call("enqueue", ENQUEUE, NOTHING | job, jobs=1, unique="unique_key" in job)

    def many(self) -> None:
        jobs = [self.job() for _ in range(self.chance.randint(1, 12))]
        unique = any("unique_key" in job for job in jobs)
        query = f"SELECT (SELECT jsonb_agg(id) FROM turnstile.enqueue_many(%(jobs)s)), {XID}"
        self.call("enqueue_many", query, {"jobs": jobs}, jobs=len(jobs), unique=unique)

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
