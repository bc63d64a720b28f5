"""An administrator: changes limits, pauses, re-ranks, moves, hurries and deletes jobs, rebuilds, checks."""

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
DELETE = _CHANGE.format(
    "DELETE FROM turnstile.job WHERE id IN (SELECT id FROM turnstile.job ORDER BY id OFFSET %(skip)s LIMIT 1)"
)
CHECK = "SELECT coalesce(jsonb_agg(jsonb_build_array(problem, detail)), '[]'), NULL FROM turnstile.check()"


ANY_JOB = "(SELECT id FROM turnstile.job ORDER BY id OFFSET %(skip)s LIMIT 1)"
ANY_DISCARDED = "(SELECT id FROM turnstile.job_history WHERE state = 'discarded' ORDER BY id DESC OFFSET %(skip)s / 10 LIMIT 1)"
ON_JOB = "SELECT jsonb_build_array(id, turnstile.{}(id)), " + XID + " FROM {} job"


class Administrator(Client):
    def __init__(self, station, name: str, seed: int):
        super().__init__(station, name, seed)
        self.changes = [self.set_limit] * 10 + [self.rerank, self.move, self.put_off, self.hurry, self.delete, self.remove_limit]
        self.changes += self.available({self.cancel: ("cancel", 2), self.retry: ("retry", 2)})
        self.upkeep = [self.rebuild, self.check]
        self.upkeep += self.available({self.rescue: ("rescue", 1), self.promote: ("promote", 1), self.maintain: ("maintain", 1)})

    def step(self) -> None:
        if self.chance.random() < 0.15:
            self.block(self.chance.randint(1, 3), self.change)
        else:
            self.change()
        self.station.rest(self.chance, 10)

    def change(self) -> None:
        self.chance.choice(self.changes if self.in_block else self.changes + self.upkeep)()

    def set_limit(self) -> None:
        table, key, columns = mix.setting(self.chance)
        self.apply("set limit", mix.upsert(table, key, columns), table=table, key=key)

    def remove_limit(self) -> None:
        table, key, _ = mix.setting(self.chance)
        if (table, key) != ("queue", ["*"]):
            self.apply("remove limit", mix.removal(table, key), table=table, key=key)

    def apply(self, verb: str, change: tuple[str, list], **arguments) -> None:
        statement, values = change
        numbered = statement
        for number in range(len(values)):
            numbered = numbered.replace("%s", f"%(v{number})s", 1)
        query = f"WITH changed AS ({numbered} RETURNING 1) SELECT jsonb_agg(1), {XID} FROM changed"
        self.call(verb, query, {f"v{number}": value for number, value in enumerate(values)}, **arguments)

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

    def cancel(self) -> None:
        self.call("cancel", ON_JOB.format("cancel", ANY_JOB), {"skip": self.skip()})

    def retry(self) -> None:
        self.call("retry", ON_JOB.format("retry", ANY_DISCARDED), {"skip": self.skip()})

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
