import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from peers import loop

CLAIM = "SELECT id, attempt, payload FROM turnstile.claim(ARRAY['default'], %s, wait => '1 minute')"
GO_ON = "SELECT id, attempt, payload FROM turnstile.complete_and_claim(%s, %s, ARRAY['default'], %s)"


class Held(threading.local):
    jobs = ()


held = Held()


def array(numbers: tuple[int, ...]) -> str:
    """As text: psycopg looks at each element of a list in Python."""
    return "{" + ",".join(map(str, numbers)) + "}"


def step(connection, most: int) -> int:
    if held.jobs:
        ids, attempts, _ = zip(*held.jobs, strict=True)
        held.jobs = connection.execute(GO_ON, [array(ids), array(attempts), most]).fetchall()
    else:
        held.jobs = connection.execute(CLAIM, [most]).fetchall()
    for _, _, payload in held.jobs:
        loop.handle(payload)
    return len(held.jobs)


# A claim waits where there is nothing to go on with.
loop.run(step, lambda _: None)
