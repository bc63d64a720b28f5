"""The code of README.md runs as it is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crew import states, until

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def block(text):
    [found] = [each for each in BLOCKS if text in each]
    return found


@pytest.fixture
def run(dsn, tmp_path):
    """Starts the blocks as one program, in the database of the test."""
    started = []

    def start(*texts):
        code = "\n".join(block(text) for text in texts).replace('"dbname=mydb"', repr(dsn))
        file = tmp_path / "program.py"
        file.write_text(code)
        started.append(subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def test_all_blocks_are_run_here():
    known = ["worker.run()", "AsyncWorker(", "enqueue_batch(", "def test_signup", "TracingHooks", "await_result("]
    assert [each for each in BLOCKS if not any(name in each for name in known)] == []


@pytest.mark.parametrize("worker", ["worker.run()", "AsyncWorker("])
def test_the_worker_and_the_producer(conn, run, worker):
    produced = run("enqueue_batch(")
    output, _ = produced.communicate(timeout=60)
    assert produced.returncode == 0
    assert output.split()[1] == "True"
    run(worker)
    until(lambda: conn.execute("SELECT count(*) FROM turnstile.jobs WHERE queue = 'mail' AND state = 'completed'").fetchone() == (1,))


def test_the_result(dsn, conn, run):
    conn.execute("SELECT turnstile.enqueue('add', '{\"a\": 1, \"b\": 2}')")
    waits = run("await_result(")
    until(lambda: states(conn).get("available") == 2)
    end = "SELECT turnstile.complete(id, attempt, '3') FROM turnstile.claim(ARRAY['*'], 2)"
    conn.execute(end)
    output, _ = waits.communicate(timeout=60)
    assert (waits.returncode, output) == (0, "3\n")


def test_the_test(conn, dsn, tmp_path):
    (tmp_path / "test_it.py").write_text(block("def test_signup"))
    environment = {**os.environ, "DATABASE_URL": dsn}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)], check=True, env=environment, cwd=tmp_path)
    assert states(conn) == {}


def test_the_traces(dsn, conn, run):
    pytest.importorskip("opentelemetry")
    run("TracingHooks")
    until(lambda: states(conn) == {"completed": 1})


def test_the_settings_are_those_that_the_page_names():
    from turnstile_client import Settings

    for name in re.findall(r"^\| `(\w+)` \|", README.split("## Settings")[1], re.MULTILINE):
        assert name in Settings.__dataclass_fields__, name
