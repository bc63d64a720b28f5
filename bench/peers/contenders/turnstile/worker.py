import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from peers import loop

CLAIM = "SELECT id, attempt, payload FROM turnstile.claim(ARRAY['default'], %s, wait => '1 minute')"
FINISH = "SELECT turnstile.complete_many(%s, %s)"


def step(connection, most: int) -> int:
    jobs = connection.execute(CLAIM, [most]).fetchall()
    for _, _, payload in jobs:
        loop.handle(payload)
    if jobs:
        connection.execute(FINISH, [[id for id, _, _ in jobs], [attempt for _, attempt, _ in jobs]])
    return len(jobs)


# The claim has waited already.
loop.run(step, lambda _: None)
