"""Ids and positions under load: what is drawn after another number was given is higher, whoever draws it, and none is given twice."""

import random
import threading

from support.calls import enqueue, enqueue_many, ids
from support.crew import Progress, together
from support.drawn import SEQUENCES

CALLS = 4_000
PRODUCERS = 6
CHANGES = ["MAXVALUE 9000000000", "MAXVALUE 8000000000", "CACHE 1", "OWNED BY NONE"]
PLACES = "SELECT id, position FROM turnstile.job WHERE id = ANY (%s) ORDER BY id"


class Given:
    """What was given so far, and by which calls. A call has to give more than all calls that had ended when it began."""

    def __init__(self):
        self.ids, self.positions = [], []
        self.highest = (0, 0)
        self._lock = threading.Lock()

    def note(self, floor: tuple[int, int], places: list[tuple[int, int]]) -> None:
        job_ids, positions = (list(column) for column in zip(*places, strict=True))
        assert min(job_ids) > floor[0] and min(positions) > floor[1], (floor, places[:3])
        assert positions == sorted(positions)
        with self._lock:
            self.ids += job_ids
            self.positions += positions
            self.highest = max(self.highest[0], *job_ids), max(self.highest[1], *positions)


def _produce(conn, chance: random.Random, given: Given, progress: Progress):
    """Mostly by calls, now and then by an INSERT or many at once, some of it rolled back."""
    while progress.going:
        floor = given.highest
        end = "ROLLBACK" if chance.random() < 0.1 else "COMMIT"
        conn.execute("BEGIN")
        match chance.choices(["one", "unique", "many", "insert"], [80, 5, 14, 1])[0]:
            case "one":
                made = [enqueue(conn)]
            case "unique":
                made = [enqueue(conn, unique_key=str(chance.random()))]
            case "many":
                made = ids(enqueue_many(conn, [{"kind": "work"}] * chance.randint(1, 300)))
            case "insert":
                made = [conn.execute("INSERT INTO turnstile.job (kind) VALUES ('work') RETURNING id").fetchone()[0]]
        places = conn.execute(PLACES, [made]).fetchall()
        conn.execute(end)
        given.note(floor, places)
        progress.add()


def _administer(conn, chance: random.Random, given: Given, progress: Progress):
    """Sets the sequences forward, and gives them new files."""
    while progress.going:
        sequence = chance.choice(list(SEQUENCES.values()))
        if chance.random() < 0.5:
            conn.execute(f"SELECT setval('{sequence}', last_value + 5000) FROM {sequence}")
        else:
            conn.execute("BEGIN")
            conn.execute(f"ALTER SEQUENCE {sequence} {chance.choice(CHANGES)}")
            conn.execute(chance.choice(["COMMIT", "ROLLBACK"]))


def test_numbers_grow_and_none_is_given_twice(db, conn, seed):
    chances = [random.Random(f"{seed} {number}") for number in range(PRODUCERS + 1)]
    given, progress = Given(), Progress(CALLS)
    producers = [lambda chance=chance: _produce(db.connect(), chance, given, progress) for chance in chances[1:]]
    together([*producers, lambda: _administer(db.connect(), chances[0], given, progress)], progress)
    assert len(set(given.ids)) == len(given.ids)
    assert len(set(given.positions)) == len(given.positions)
