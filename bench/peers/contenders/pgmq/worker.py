import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from peers import loop

READ = "SELECT msg_id, message FROM pgmq.read_with_poll('bench', 300, %s, 5, 100)"
FINISH = "SELECT pgmq.delete('bench', %s::bigint[])"


def step(connection, most: int) -> int:
    jobs = connection.execute(READ, [most]).fetchall()
    for _, payload in jobs:
        loop.handle(payload)
    if jobs:
        connection.execute(FINISH, [[id for id, _ in jobs]])
    return len(jobs)


# The read has waited already.
loop.run(step, lambda _: None)
