"""A producer: jobs by function, by array, by INSERT and by COPY; now and ahead; committed or not."""

import time

from histories import mix
from histories.client import XID, Client
from histories.wire import copy_field

COLUMNS = ["kind", "queue", "tenant", "account", "session", "concurrency_key", "priority", "max_attempts", "payload"]


class Producer(Client):
    def step(self) -> None:
        if self.station.is_full():
            time.sleep(0.02)
            return
        chance = self.chance.random()
        if chance < 0.005:
            self.be_impatient()
        elif chance < 0.2:
            self.block(self.chance.randint(1, 4), self.produce)
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
        unique = "unique_key" in job
        named = ", ".join(f"{name} => %({name})s" for name in job)
        if self.chance.random() < 0.2:
            job["ahead"] = f"{self.chance.randint(0, 2000)} milliseconds"
            named += ", run_at => clock_timestamp() + %(ahead)s::interval"
        self.call("enqueue", f"SELECT jsonb_build_array(turnstile.enqueue({named})), {XID}", job, jobs=1, unique=unique)

    def many(self) -> None:
        jobs = [self.job() for _ in range(self.chance.randint(1, 12))]
        unique = any("unique_key" in job for job in jobs)
        query = f"SELECT (SELECT jsonb_agg(id) FROM turnstile.enqueue_many(%(jobs)s)), {XID}"
        self.call("enqueue_many", query, {"jobs": jobs}, jobs=len(jobs), unique=unique)

    def insert(self) -> None:
        jobs = self.jobs(6)
        values = {f"{name}{n}": job.get(name, 0) for n, job in enumerate(jobs) for name in COLUMNS}
        values |= {f"{name}{n}": job.get(name) for n, job in enumerate(jobs) for name in COLUMNS[2:6]}
        rows = ", ".join("(" + ", ".join(f"%({name}{n})s" for name in COLUMNS) + ")" for n in range(len(jobs)))
        query = (
            f"WITH made AS (INSERT INTO turnstile.job ({', '.join(COLUMNS)}) VALUES {rows} RETURNING id)"
            f" SELECT jsonb_agg(id), {XID} FROM made"
        )
        self.call("insert", query, values, jobs=len(jobs))

    def copy(self) -> None:
        """COPY tells no ids: the kind of the rows tells where they came from."""
        jobs = self.jobs(8)

        def rows():
            lines = ["\t".join(copy_field(job.get(name)) for name in COLUMNS) for job in jobs]
            self.conn.copy(f"COPY turnstile.job ({', '.join(COLUMNS)}) FROM STDIN", lines)
            return None, None

        self.logged("copy", {"jobs": len(jobs)}, rows)
