"""An administrator: changes limits, pauses, re-ranks, moves, hurries and deletes jobs, rebuilds, checks."""

import time

from histories import mix
from histories.client import XID, Client

# Some of the jobs that wait, whoever they are. Not locked here: that would lock those that OFFSET skips, too.
_WAITING = "state = 'available' AND id IN (SELECT id FROM turnstile.job WHERE state = 'available' ORDER BY id OFFSET %(skip)s LIMIT 4)"
_CHANGE = "WITH changed AS ({} RETURNING id) SELECT coalesce(jsonb_agg(id), '[]'), " + XID + " FROM changed"
RERANK = _CHANGE.format(f"UPDATE turnstile.job SET priority = %(priority)s WHERE {_WAITING}")
MOVE = _CHANGE.format(f"UPDATE turnstile.job SET queue = %(queue)s WHERE {_WAITING}")
PUT_OFF = _CHANGE.format(
    "UPDATE turnstile.job SET state = 'scheduled', run_at = clock_timestamp() + interval '300 milliseconds'"
    f" WHERE {_WAITING}"
)
HURRY = _CHANGE.format("UPDATE turnstile.job SET run_at = clock_timestamp() WHERE state IN ('scheduled', 'retryable')")
# Not parents: who deletes one before its turn leaves children behind that wait for it for ever.
DELETE = _CHANGE.format(
    "DELETE FROM turnstile.job WHERE id IN (SELECT id FROM turnstile.job WHERE NOT EXISTS (SELECT FROM turnstile.batch"
    " WHERE batch.id = job.id) ORDER BY id OFFSET %(skip)s LIMIT 1)"
)
LOCK = (
    "WITH locked AS MATERIALIZED (SELECT id FROM turnstile.job WHERE id IN (SELECT id FROM turnstile.job WHERE state = 'available'"
    f" ORDER BY priority, position LIMIT 3) FOR UPDATE SKIP LOCKED) SELECT coalesce(jsonb_agg(id), '[]'), {XID} FROM locked"
)
# The look at the figures has the jobs counted, so that the next check can compare them.
CHECK = """
    WITH looked AS MATERIALIZED (SELECT count(*) FROM turnstile_internal.figures('queue'))
    SELECT coalesce(jsonb_agg(jsonb_build_array(problem, detail)), '[]'), NULL FROM looked, turnstile.check()
"""

_LIVE = "EXISTS (SELECT FROM turnstile.job WHERE job.id = batch.id)"
ANY_JOB = "(SELECT id FROM turnstile.job ORDER BY id OFFSET %(skip)s LIMIT 1)"
ANY_DISCARDED = "(SELECT id FROM turnstile.job_history WHERE state = 'discarded' ORDER BY id DESC OFFSET %(skip)s / 10 LIMIT 1)"
ANY_PARENT = f"(SELECT id FROM turnstile.batch WHERE {_LIVE} ORDER BY id OFFSET %(skip)s LIMIT 1)"
ENDED_PARENT = (
    "(SELECT id FROM turnstile.job_history WHERE state <> 'completed' AND EXISTS (SELECT FROM turnstile.batch WHERE batch.id = job_history.id)"
    " ORDER BY id DESC OFFSET %(skip)s LIMIT 1)"
)
ANY_CHILD = "(SELECT id FROM turnstile.job_history WHERE state = 'discarded' AND parent IS NOT NULL ORDER BY id DESC OFFSET %(skip)s LIMIT 1)"
SET_BATCH = (
    f"WITH changed AS (UPDATE turnstile.batch SET {{}} WHERE id IN {ANY_PARENT} RETURNING id)"
    f" SELECT coalesce(jsonb_agg(id), '[]'), {XID} FROM changed"
)
ON_JOB = "SELECT jsonb_build_array(id, turnstile.{}(id{})), " + XID + " FROM {} job"
ON_MANY = f"SELECT turnstile.{{}}({{}}, max_jobs => %(most)s), {XID}"
SETTER = "SELECT turnstile.set_{}({}) IS NOT NULL, " + XID


class Administrator(Client):
    def __init__(self, station, name: str, seed: int):
        super().__init__(station, name, seed)
        self.changes = [*[self.set_limit] * 12, *[self.pause] * 2, self.remove_limit, self.set_route, self.reroute]
        self.changes += [self.rerank, self.move, self.put_off, self.hurry, self.delete, self.lock]
        self.changes += [*[self.on_job] * 4, self.on_many, self.on_many]
        self.changes += [self.on_batch, self.on_batch, self.set_batch]
        self.upkeep = [self.rebuild, self.check, self.rescue, self.promote, self.maintain]

    def step(self) -> None:
        if self.chance.random() < 0.15:
            self.block(self.chance.randint(1, 3), self.change)
        else:
            self.change()
        self.station.rest(self.chance, 10)

    def change(self) -> None:
        self.chance.choice(self.changes if self.in_block else self.changes + self.upkeep)()

    # ---- Settings ----

    def set_limit(self) -> None:
        """By DML, or by the setters, which leave alone what is not given."""
        table, key, columns = mix.setting(self.chance)
        if key != ["*"] and self.chance.random() < 0.3:
            self.call_setter(table, key, columns)
        else:
            self.apply("set limit", mix.upsert(table, key, columns), table=table, key=key)

    def call_setter(self, table: str, key: list[str], columns: dict) -> None:
        empty = [name for name, value in columns.items() if value is None]
        given = {name: value for name, value in columns.items() if value is not None}
        places = [f"%(key{number})s" for number in range(len(key))] + [f"{name} => %({name})s" for name in given]
        values = {f"key{number}": part for number, part in enumerate(key)} | given | {"clear": empty}
        self.call("set limit", SETTER.format(table, ", ".join([*places, "clear => %(clear)s"])), values, table=table, key=key)

    def remove_limit(self) -> None:
        table, key, _ = mix.setting(self.chance)
        if (table, key) not in (("queue", ["*"]), ("queue", [mix.PASSING]), ("queue", [mix.FAIR]), *mix.BOUNDED):
            self.apply("remove limit", mix.removal(table, key), table=table, key=key)

    def pause(self) -> None:
        what, key = self.chance.choice(mix.PAUSED)
        places = ", ".join(f"%(key{number})s" for number in range(len(key)))
        values = {f"key{number}": part for number, part in enumerate(key)}
        if self.chance.random() < 0.5:
            self.call("resume", f"SELECT turnstile.resume_{what}({places})::text, {XID}", values)
        else:
            query = f"SELECT turnstile.pause_{what}({places}, until => %(until)s)::text, {XID}"
            self.call("pause", query, values | {"until": mix.soon(self.chance)})

    def apply(self, verb: str, change: tuple[str, list], **arguments) -> None:
        statement, values = change
        numbered = statement
        for number in range(len(values)):
            numbered = numbered.replace("%s", f"%(v{number})s", 1)
        query = f"WITH changed AS ({numbered} RETURNING 1) SELECT jsonb_agg(1), {XID} FROM changed"
        self.call(verb, query, {f"v{number}": value for number, value in enumerate(values)}, **arguments)

    def set_route(self) -> None:
        pattern = self.chance.choice(mix.KINDS)
        if self.chance.random() < 0.3:
            self.call("drop route", f"SELECT turnstile.drop_route(%(pattern)s), {XID}", {"pattern": pattern})
        else:
            values = {"pattern": pattern, "queue": self.chance.choice(mix.QUEUES), "override": self.chance.random() < 0.2}
            query = f"SELECT turnstile.set_route(%(pattern)s, queue => %(queue)s, override => %(override)s) IS NOT NULL, {XID}"
            self.call("set route", query, values)

    def reroute(self) -> None:
        values = {"pattern": self.chance.choice(mix.KINDS), "most": self.chance.choice([1, 5, 20])}
        self.call("reroute", f"SELECT turnstile.reroute(%(pattern)s, %(most)s), {XID}", values)

    # ---- Jobs ----

    def rerank(self) -> None:
        self.call("rerank", RERANK, {"skip": self.skip(), "priority": self.chance.choice(mix.PRIORITIES)})

    def move(self) -> None:
        self.call("move", MOVE, {"skip": self.skip(), "queue": self.chance.choice(mix.QUEUES)})

    def put_off(self) -> None:
        self.call("put off", PUT_OFF, {"skip": self.skip()})

    def hurry(self) -> None:
        self.call("hurry", HURRY)

    def delete(self) -> None:
        self.call("delete", DELETE, {"skip": self.skip()})

    def lock(self) -> None:
        """Rows of jobs locked by a stranger for a while; claims go past them."""
        self.call("lock", LOCK)
        if self.in_block:
            time.sleep(self.chance.random() * 0.01)

    def on_job(self) -> None:
        verb, more, jobs = self.chance.choice(
            [
                ("cancel", "", ANY_JOB),
                ("discard", "", ANY_JOB),
                ("reprioritize", ", %(priority)s", ANY_JOB),
                ("retry", "", ANY_DISCARDED),
                ("retry", "", ANY_JOB),
            ]
        )
        self.call(verb, ON_JOB.format(verb, more, jobs), {"skip": self.skip(), "priority": self.chance.choice(mix.PRIORITIES)})

    def on_batch(self) -> None:
        """What is done to a parent is done to its children, too."""
        verb, jobs = self.chance.choice([("cancel", ANY_PARENT), ("discard", ANY_PARENT), ("retry", ENDED_PARENT), ("retry", ANY_CHILD)])
        self.call(verb, ON_JOB.format(verb, "", jobs), {"skip": self.skip() % 10})

    def set_batch(self) -> None:
        columns = mix.batch_setting(self.chance)
        assignments = ", ".join(f"{name} = %({name})s" for name in columns)
        self.call("set limit", SET_BATCH.format(assignments), columns | {"skip": self.skip() % 10})

    def on_many(self) -> None:
        verb = self.chance.choice(["cancel_many", "discard_many", "retry_many"])
        name, values = self.chance.choice(mix.FILTERS)
        query = ON_MANY.format(verb, f"{name} => %(value)s")
        self.call(verb, query, {"value": self.chance.choice(values), "most": self.chance.choice([1, 3])})

    # ---- Upkeep ----

    def rescue(self) -> None:
        self.call("rescue", f"SELECT turnstile.rescue(), {XID}")

    def promote(self) -> None:
        self.call("promote", f"SELECT turnstile.promote(), {XID}")

    def maintain(self) -> None:
        self.call("maintain", f"SELECT count(*), {XID} FROM turnstile.maintain()")

    def rebuild(self) -> None:
        self.call("rebuild", f"SELECT turnstile.rebuild()::text, {XID}")

    def check(self) -> None:
        self.call("check", CHECK)

    def skip(self) -> int:
        return self.chance.randint(0, 200)
