"""A worker: claims in every way, ends its runs in every way, sometimes twice, late, or not at all."""

import time

from histories import mix
from histories.client import LEVELS, XID, Client
from histories.model import EVERY_QUEUE

MOST_HELD = 6
# What a claim answers: [id, attempt] of each job, in order.
_ANSWER = f"SELECT (SELECT coalesce(jsonb_agg(jsonb_build_array(id, attempt)), '[]') FROM {{}}), {XID}"
_HOW = "%(me)s, %(lease)s::interval, %(bound)s, %(wait)s::interval"
CLAIM = _ANSWER.format(f"turnstile.claim(%(queues)s, %(most)s, {_HOW})")
CLAIM_NEXT = _ANSWER.format(f"turnstile.claim_next(%(queue)s, {_HOW})")
COMPLETE_AND_CLAIM = _ANSWER.format(
    f"turnstile.complete_and_claim_next(%(id)s, %(attempt)s, %(result)s, %(queue)s, {_HOW})"
)
COMPLETE_MANY_AND_CLAIM = _ANSWER.format(
    f"turnstile.complete_and_claim(%(ids)s, %(attempts)s, %(queues)s, %(most)s, {_HOW})"
)
PLAIN = {"lease": None, "bound": False, "wait": None}
WAIT = "CALL turnstile.wait_for_job(%(queues)s, '10 milliseconds')"
ENQUEUE_MANY = f"SELECT (SELECT jsonb_agg(id) FROM turnstile.enqueue_many(%(jobs)s)), {XID}"
LEFT_BEHIND = (
    "SELECT coalesce(jsonb_agg(jsonb_build_array(id, attempt)), '[]'), NULL FROM turnstile.job"
    " WHERE state = 'running' AND worker LIKE %(name)s || ':%'"
)


def _keys(runs: list[list[int]]) -> dict:
    return {"ids": [run[0] for run in runs], "attempts": [run[1] for run in runs]}


class Worker(Client):
    # Claims are refused at the other.
    levels = [level for level in LEVELS if level != "SERIALIZABLE"]

    def __init__(self, station, name: str, seed: int):
        super().__init__(station, name, seed)
        self.held: list[list[int]] = []
        self.over: list[list[int]] = []
        often = [*[self.complete] * 6, *[self.complete_many] * 3, *[self.hand_on] * 4, *[self.hand_many_on] * 2, *[self.heartbeat] * 2, *[self.fail] * 2]
        self.ways_with_a_run = [*often, self.release, self.snooze, self.progress, self.discard, self.hold, self.step_aside]

    def remember(self):
        return list(self.held), list(self.over)

    def recall(self, remembered) -> None:
        self.held, self.over = remembered

    def came_back(self) -> None:
        before, self.held = self.held, self.call("left behind", LEFT_BEHIND, {"name": self.name})
        # Who has lost a claim goes on with its run all the same.
        self.over = [*self.over, *[run for run in before if run not in self.held]][-MOST_HELD:]

    def step(self) -> None:
        chance = self.chance.random()
        if chance < 0.003:
            self.be_impatient()
        elif chance < 0.0033:
            self.hang_up()
        elif chance < 0.005:
            self.came_back()
        elif chance < 0.08:
            self.block(self.chance.randint(1, 6), self.move)
            if self.chance.random() < 0.005:
                self.hang_up()
        else:
            self.move()

    def move(self) -> None:
        if self.held and (len(self.held) >= MOST_HELD or self.chance.random() < 0.6):
            self.chance.choice(self.ways_with_a_run)()
        elif self.over and self.chance.random() < 0.03:
            self.end_again()
        else:
            self.take()

    def take(self) -> None:
        values = self.how()
        if self.chance.random() < 0.6:
            queues, most = [self.chance.choice([*mix.QUEUES, EVERY_QUEUE])], 1
            verb, query, values["queue"] = "claim_next", CLAIM_NEXT, queues[0]
        else:
            queues, most = self.some_queues(), self.chance.randint(1, 4)
            verb, query, values["queues"], values["most"] = "claim", CLAIM, queues, most
        taken = self.call(verb, query, values, queues=queues, most=most, bound=values["bound"])
        self.held += taken
        if not taken and not values["wait"] and not self.in_block:
            self.wait_for(queues)

    def some_queues(self) -> list[str]:
        return self.chance.sample(mix.QUEUES, self.chance.randint(1, 4)) if self.chance.random() < 0.8 else [EVERY_QUEUE]

    def how(self) -> dict:
        """For how long a claim holds, whether while the connection lasts, and whether it waits for jobs."""
        return {
            "lease": self.chance.choice([None, None, "2 seconds", "1 hour"]),
            "bound": self.chance.random() < 0.2,
            "wait": f"{self.chance.randint(0, 20)} milliseconds" if self.chance.random() < 0.3 else None,
        }

    def wait_for(self, queues: list[str]) -> None:
        if self.chance.random() < 0.5:
            self.call("wait_for_job", WAIT, {"queues": queues})
        else:
            time.sleep(self.chance.random() * 0.01)

    def pick(self) -> list[int]:
        run = self.chance.choice(self.held)
        self.held.remove(run)
        self.over = [*self.over[-5:], run]
        return run

    def on_run(self, verb: str, arguments: str, run: list[int], **values):
        """A call about one run; what it asks for is logged with the run."""
        query = f"SELECT turnstile.{verb}(%(id)s, %(attempt)s{arguments}), {XID}"
        return self.call(verb, query, {"id": run[0], "attempt": run[1], **values}, runs=[run])

    def complete(self) -> None:
        self.on_run("complete", ", %(result)s", self.pick(), result={"by": self.next_me})

    def complete_many(self) -> None:
        runs = self.pick_some()
        query = f"SELECT turnstile.complete_many(%(ids)s, %(attempts)s), {XID}"
        self.call("complete_many", query, _keys(runs), runs=runs)

    def pick_some(self) -> list[list[int]]:
        return [self.pick() for _ in range(min(len(self.held), self.chance.randint(1, 4)))]

    def hand_on(self) -> None:
        """One run is completed and the next claimed, from a queue that is named, or from that of the run."""
        run = self.pick()
        queue = self.chance.choice([None, *mix.QUEUES])
        values = {"id": run[0], "attempt": run[1], "result": {"by": self.next_me}, "queue": queue, **self.how()}
        named = {"queues": [queue]} if queue else {}
        self.held += self.call(
            "complete_and_claim_next", COMPLETE_AND_CLAIM, values, runs=[run], most=1, bound=values["bound"], **named
        )

    def hand_many_on(self) -> None:
        """Runs are completed and the next claimed."""
        runs, queues, most = self.pick_some(), self.some_queues(), self.chance.randint(1, 4)
        values = {**_keys(runs), "queues": queues, "most": most, **self.how()}
        self.held += self.call(
            "complete_and_claim", COMPLETE_MANY_AND_CLAIM, values, runs=runs, queues=queues, most=most, bound=values["bound"]
        )

    def fail(self) -> None:
        wait = self.chance.choice(["0", "5 milliseconds", "50 milliseconds", "1 second"])
        discard = self.chance.random() < 0.1
        arguments = ", 'no luck', %(wait)s::interval, %(discard)s"
        self.on_run("fail", arguments, self.pick(), wait=wait, discard=discard)

    def discard(self) -> None:
        self.on_run("discard", ", 'no use'", self.pick())

    def release(self) -> None:
        self.on_run("release", "", self.pick())

    def heartbeat(self) -> None:
        self.on_run("heartbeat", ", %(lease)s::interval", self.chance.choice(self.held), lease="3 seconds")

    def progress(self) -> None:
        self.on_run("progress", ", 1, 2, 'half'", self.chance.choice(self.held))

    def snooze(self) -> None:
        self.on_run("snooze", ", %(delay)s::interval", self.pick(), delay=self.chance.choice(["0", "50 milliseconds"]))

    def step_aside(self) -> None:
        """A run adds children, and mostly waits for them; where it does not, they go on without it."""
        run = self.chance.choice(self.held)
        if not self.station.is_full():
            jobs = [mix.child_of(self.chance, self.next_me, run[0]) for _ in range(self.chance.randint(1, 3))]
            self.call("enqueue_many", ENQUEUE_MANY, {"jobs": jobs}, jobs=len(jobs), parents=[run[0]] * len(jobs))
        if self.chance.random() < 0.9 and self.on_run("await_children", "", run):
            self.held.remove(run)
            self.over = [*self.over[-5:], run]

    def hold(self) -> None:
        time.sleep(self.chance.random() * 0.01)

    def end_again(self) -> None:
        """A run that is over is ended once more, or under the attempt before: it must change nothing."""
        run = list(self.chance.choice(self.over))
        run[1] -= self.chance.choice([0, 0, 1])
        verb, arguments = self.chance.choice([("complete", ""), ("fail", ""), ("release", "")])
        self.on_run(verb, arguments, run)
