"""A worker as one writes it by hand: claim, a POST for each job, complete. usage: python http_loop.py URL AT-ONCE"""

import http.client
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

SQL = Path(__file__).resolve().parents[1] / "sql" / "dispatch"
# More threads do not make Python faster.
MOST_THREADS = 32


class Requests:
    """A kept connection for each thread."""

    def __init__(self, url: str):
        self.url, self.of_thread = urlsplit(url), threading.local()

    def post(self, job: tuple) -> None:
        if not hasattr(self.of_thread, "connection"):
            self.of_thread.connection = http.client.HTTPConnection(self.url.netloc)
        number, attempt, payload = job
        headers = {"Content-Type": "application/json", "Job-Id": str(number), "Attempt": str(attempt)}
        self.of_thread.connection.request("POST", self.url.path, payload.encode(), headers)
        answer = self.of_thread.connection.getresponse()
        answer.read()
        if answer.status // 100 != 2:
            raise RuntimeError(f"the endpoint answers {answer.status}")


def main(url: str, at_once: int) -> None:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    claim, complete = ((SQL / file).read_text() for file in ("claim.sql", "complete.sql"))
    requests = Requests(url)
    with psycopg.connect(autocommit=True) as connection, ThreadPoolExecutor(min(at_once, MOST_THREADS)) as threads:
        while not over.is_set():
            jobs = connection.execute(claim, {"jobs": at_once}).fetchall()
            list(threads.map(requests.post, jobs))
            values = {"ids": [job[0] for job in jobs], "attempts": [job[1] for job in jobs]}
            connection.execute(complete, values)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
