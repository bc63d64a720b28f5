"""Many connections at once: tasks in threads, a count of what is done, and a way out when nothing moves any more."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

STALL = 60


class Progress:
    """How many of the expected jobs have ended. A queue that stands still with jobs left is an error."""

    def __init__(self, total: int):
        self.total = total
        self.ended = 0
        self.broken = False
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def add(self, ended: int = 1) -> None:
        with self._lock:
            self.ended += ended
            self._last = time.monotonic()

    @property
    def going(self) -> bool:
        """Whether there is work left, and no task has failed."""
        return self.ended < self.total and not self.broken

    def idle(self) -> None:
        """To call when a claim found nothing: a short rest, or a failure after a long time without any end."""
        if time.monotonic() - self._last > STALL:
            raise AssertionError(f"stalled: {self.ended} of {self.total} jobs ended, then none for {STALL} seconds")
        time.sleep(0.002)


def together(tasks, progress: Progress | None = None) -> list:
    """Runs the tasks at once, each in a thread; their results, or the first error any of them raised."""
    progress = progress or Progress(1)
    start = threading.Barrier(len(tasks))
    errors = []

    def run(task):
        start.wait(STALL)
        try:
            return task()
        except BaseException as error:
            errors.append(error)
            progress.broken = True

    with ThreadPoolExecutor(len(tasks)) as pool:
        results = list(pool.map(run, tasks))
    if errors:
        raise errors[0]
    return results
