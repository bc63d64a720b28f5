import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from peers import loop

CLAIM = """
    WITH taken AS MATERIALIZED (
        SELECT id FROM job WHERE state = 'available' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT %s
    )
    UPDATE job SET state = 'running' FROM taken WHERE job.id = taken.id RETURNING job.id, job.payload"""
FINISH = "UPDATE job SET state = 'completed' WHERE id = ANY (%s)"


def step(connection, most: int) -> int:
    jobs = connection.execute(CLAIM, [most]).fetchall()
    for _, payload in jobs:
        loop.handle(payload)
    if jobs:
        connection.execute(FINISH, [[id for id, _ in jobs]])
    return len(jobs)


# A table by itself wakes nobody.
loop.run(step, lambda _: time.sleep(0.1))
