"""Workers of both kinds for tests, and what is seen of their jobs."""

import asyncio
import threading
import time

from turnstile_client import AsyncWorker, Worker

PATIENCE = 30


class Started:
    """A worker in a thread; its handlers are functions of a run, whichever worker it is."""

    def __init__(self, kind, dsn, handlers, **settings):
        self.is_async = kind == "async"
        self.error = None
        self.thread = threading.Thread(target=self._run, args=[dsn, handlers, settings])
        self.ready = threading.Event()
        self.thread.start()
        self.ready.wait(PATIENCE)

    def _run(self, dsn, handlers, settings):
        try:
            if self.is_async:
                asyncio.run(self._run_async(dsn, handlers, settings))
            else:
                self.worker = Worker(dsn, handlers, **settings)
                self.ready.set()
                self.worker.run(signals=False)
        except BaseException as error:
            self.error = error
        self.ready.set()

    async def _run_async(self, dsn, handlers, settings):
        def as_coroutine(handler):
            async def coroutine(run):
                return await asyncio.to_thread(handler, run)

            return coroutine

        self.worker = AsyncWorker(dsn, {kind: as_coroutine(handler) for kind, handler in handlers.items()}, **settings)
        self.loop = asyncio.get_running_loop()
        self.ready.set()
        await self.worker.run(signals=False)

    def stop(self, hard=False):
        if self.is_async:
            self.loop.call_soon_threadsafe(self.worker.stop, hard)
        else:
            self.worker.stop(hard)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def until(condition, what="what is waited for"):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found


def states(conn):
    return dict(conn.execute("SELECT state, count(*) FROM turnstile.jobs GROUP BY 1").fetchall())


def job(conn, job_id):
    query = "SELECT state, result, errors -> -1 ->> 'error', attempt FROM turnstile.jobs WHERE id = %s ORDER BY finished_at DESC NULLS FIRST"
    return conn.execute(query, [job_id]).fetchone()
