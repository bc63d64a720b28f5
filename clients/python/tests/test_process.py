"""A worker as a process of its own: signals, and that it leaves in any case."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from crew import PATIENCE, job, states, until
from turnstile_client import enqueue

PROGRAM = """
    import asyncio, signal, sys, time
    from turnstile_client import AsyncWorker, Worker

    # A shell may have its background jobs ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[2] == "nohup" else signal.SIG_DFL)

    def deaf(run):
        print("deaf", flush=True)
        time.sleep(3600)

    def slow(run):
        print("slow", flush=True)
        time.sleep(0.5)

    def listens(run):
        print("listens", flush=True)
        run.wait_for_stop(3600)
        run.check()

    handlers = {"deaf": deaf, "slow": slow, "listens": listens}
    if sys.argv[1] == "threads":
        try:
            Worker("", handlers, grace=0.3).run(signals=sys.argv[2] != "no signals")
        except KeyboardInterrupt:
            pass
    else:
        handlers = {kind: lambda run, handler=handler: asyncio.to_thread(handler, run) for kind, handler in handlers.items()}
        del handlers["deaf"]
        worker = AsyncWorker("", handlers, grace=0.3)
        asyncio.run(worker.run())
    print("left", flush=True)
"""


@pytest.fixture
def process(request, conn, kind):
    arguments = [kind, getattr(request, "param", "signals")]
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *arguments], env={**os.environ, "PGDATABASE": conn.info.dbname},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield program
    program.kill()
    program.wait()


def says(process, what):
    line = process.stdout.readline()
    assert line == what + "\n"


def leaves(process):
    says(process, "left")
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_runs_end(conn, process, number):
    slow = enqueue(conn, "slow").id
    says(process, "slow")
    process.send_signal(number)
    leaves(process)
    assert job(conn, slow)[0] == "completed"


@pytest.mark.parametrize("process", ["nohup"], indirect=True)
def test_a_worker_that_is_to_outlive_its_terminal_does(conn, process):
    enqueue(conn, "slow")
    says(process, "slow")
    process.send_signal(signal.SIGHUP)
    until(lambda: states(conn) == {"completed": 1})
    enqueue(conn, "slow")
    says(process, "slow")
    process.send_signal(signal.SIGTERM)
    leaves(process)


def test_the_second_signal_stops_them(conn, process):
    job_id = enqueue(conn, "listens").id
    says(process, "listens")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    leaves(process)
    assert job(conn, job_id)[0] == "available"


@pytest.mark.parametrize("kind", ["threads"])
@pytest.mark.parametrize("process", ["no signals"], indirect=True)
def test_an_interrupt_that_is_not_the_workers_own_is_a_hard_stop(conn, process):
    job_id = enqueue(conn, "listens").id
    says(process, "listens")
    process.send_signal(signal.SIGINT)
    leaves(process)
    assert job(conn, job_id)[0] == "available"


def test_a_handler_that_never_ends_does_not_keep_the_process(conn, process, kind):
    if kind == "async":
        pytest.skip("a coroutine is cancelled; a thread that asyncio has started keeps the process, as it does everywhere")
    enqueue(conn, "deaf")
    says(process, "deaf")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    leaves(process)
    assert states(conn) == {"available": 1}


def test_a_process_that_is_killed_loses_no_job(conn, process):
    conn.execute("SELECT turnstile.set_queue('*', lease => '1 second', retry_base => '10 milliseconds')")
    job_id = enqueue(conn, "listens").id
    says(process, "listens")
    process.kill()
    until(lambda: conn.execute("SELECT turnstile.rescue()") and job(conn, job_id)[0] in ("retryable", "available"))
