#!/usr/bin/env python3
"""What the conformance suite (pg_test/clients) starts: a worker with handlers that it knows. clients/README.md has the protocol.

usage: conformance_driver.py --mode sync|async (--capabilities | --queues a,b --concurrency N …)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg

from turnstile_client import AsyncWorker, AwaitChildren, Discard, Hooks, Retry, Run, Snooze, Worker, enqueue, enqueue_many

CAPABILITIES = [
    "concurrency", "heartbeats", "told", "hard_stop", "results", "retry", "discard", "snooze", "rules", "progress", "children", "transactions",
    "reconnects", "error_class",
]  # fmt: skip
DATABASE = os.environ.get("DATABASE_URL", "")


class Forbidden(Exception):
    """Registered as a discard."""


class Events(Hooks):
    def __init__(self) -> None:
        self._lock = threading.Lock()

    def ready(self) -> None:
        self.say("ready")

    def say(self, event: str, **more: Any) -> None:
        with self._lock:
            print(json.dumps({"event": event, **more}), flush=True)

    def of(self, event: str, run: Run, **more: Any) -> None:
        self.say(event, id=str(run.id), attempt=run.job.attempt, **more)

    @contextlib.contextmanager
    def around(self, run: Run) -> Iterator[None]:
        self.of("started", run, kind=run.kind)
        try:
            yield
        finally:
            self.of("ended", run)


events = Events()


def own_connection(autocommit: bool) -> psycopg.Connection[Any]:
    return psycopg.connect(DATABASE, autocommit=autocommit, prepare_threshold=None)


# ---- handlers that need no time


def ok(run: Run) -> None:
    pass


def echo(run: Run) -> Any:
    return run.payload


def info(run: Run) -> dict[str, Any]:
    job = run.job
    names = ("attempt", "queue", "kind", "priority", "tenant", "max_attempts", "attempts_left", "metadata")
    return {"id": str(job.id), **{name: getattr(job, name) for name in names}}


def fail(run: Run) -> None:
    if run.job.attempt <= run.payload.get("times", run.job.attempt):
        raise RuntimeError(f"told to fail: {run.payload.get('error')}")


def fail_text(run: Run) -> None:
    raise RuntimeError("odd \0 \ud800 " + b"\xff\xfe".decode("utf-8", "surrogateescape") + " end")


def fail_oddly(run: Run) -> None:
    raise SystemExit(3)


def bad_result(run: Run) -> Any:
    cycle: dict[str, Any] = {"nan": float("nan"), "nul": "\0", "object": object()}
    cycle["cycle"] = cycle
    return cycle


def retry(run: Run) -> None:
    raise Retry(run.payload.get("error"), in_=run.payload.get("seconds"), error_class=run.payload.get("error_class"))


def discard(run: Run) -> None:
    raise Discard(run.payload.get("error"), error_class=run.payload.get("error_class"))


def snooze(run: Run) -> Any:
    until = run.payload.get("until")
    return Snooze(run.payload["seconds"]) if until is None or until > time.time() else None


def rule(run: Run) -> None:
    raise Forbidden("by the rule")


def parent(run: Run) -> Any:
    if run.job.children is not None:
        return run.job.children
    with own_connection(autocommit=True) as conn:
        enqueue_many(conn, [{"kind": "ok", "queue": run.job.queue, "parent": run.id} for _ in range(run.payload["children"])])
    raise AwaitChildren


def transfer(run: Run) -> str:
    with own_connection(autocommit=False) as conn:
        added = enqueue(conn, "transferred", run.payload.get("payload"), queue="elsewhere")
        if not run.payload.get("keep"):
            conn.rollback()
    return str(added.id)


QUICK = [ok, echo, info, fail, fail_text, fail_oddly, bad_result, retry, discard, snooze, rule]
BLOCKING = [parent, transfer]


# ---- handlers that take their time: in a thread, and as coroutines


def stopping(run: Run) -> str:
    assert run.stopped is not None
    events.of("stopping", run, reason=run.stopped.value)
    return run.stopped.value


def waiting(sleep: Any, stop: Any) -> dict[str, Any]:
    """sleep: seconds of it. stop: of a run, until it is told to stop."""

    async def sleeps(run: Run) -> None:
        await sleep(run.payload["seconds"])

    async def listen(run: Run) -> None:
        await stop(run)
        stopping(run)
        raise RuntimeError("interrupted")

    async def finish(run: Run) -> str:
        await stop(run)
        return stopping(run)

    async def deaf(run: Run) -> None:
        await stop(run)
        stopping(run)
        while True:
            await sleep(3600)

    async def progress(run: Run) -> None:
        run.progress(run.payload["done"], run.payload.get("total"), run.payload.get("message"))
        await sleep(run.payload["seconds"])

    return {"sleep": sleeps, "listen": listen, "finish": finish, "deaf": deaf, "progress": progress}


async def sleep_in_thread(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251


async def stop_in_thread(run: Run) -> None:
    while not run.wait_for_stop(3600):
        pass


def in_thread(coroutine_function: Any) -> Any:
    """Of a coroutine that never suspends."""

    def handler(run: Run) -> Any:
        try:
            coroutine_function(run).send(None)
        except StopIteration as done:
            return done.value

    return handler


def as_coroutine(function: Any) -> Any:
    async def handler(run: Run) -> Any:
        return await asyncio.to_thread(function, run) if function in BLOCKING else function(run)

    return handler


def handlers(is_async: bool) -> dict[str, Any]:
    both = {each.__name__: each for each in [*QUICK, *BLOCKING]}
    if is_async:
        return {**{kind: as_coroutine(each) for kind, each in both.items()}, **waiting(asyncio.sleep, lambda run: run.stop_asked())}
    return {**both, **{kind: in_thread(each) for kind, each in waiting(sleep_in_thread, stop_in_thread).items()}}


# ---- the program


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["sync", "async"], required=True)
    parser.add_argument("--capabilities", action="store_true")
    parser.add_argument("--queues", type=lambda text: text.split(","))
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--name")
    for name in ("lease", "heartbeat", "drain", "grace"):
        parser.add_argument(f"--{name}", type=float)
    return parser.parse_args()


def main() -> None:
    given = options()
    if given.capabilities:
        print(json.dumps(CAPABILITIES))
        return
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    names = ("queues", "concurrency", "name", "lease", "heartbeat", "drain", "grace")
    settings = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    made: Any = AsyncWorker if given.mode == "async" else Worker
    worker = made(DATABASE, handlers(given.mode == "async"), retry={Forbidden: Discard}, hooks=events, **settings)
    ran = worker.run()
    if inspect.isawaitable(ran):
        asyncio.run(ran)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
