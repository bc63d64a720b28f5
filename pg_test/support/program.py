"""The program `turnstile`, as scripts/install builds it."""

import json
import os
import queue
import subprocess
import threading

from support.system import ROOT

# TURNSTILE_PROGRAM: another build of it.
PROGRAM = os.environ.get("TURNSTILE_PROGRAM") or str(ROOT / "target/release/turnstile")
# No rule is about time; this only turns a test that would hang into one that fails.
GIVE_UP = 60

REFUSED, USAGE, NO_SERVER, DIFFERENT = 1, 2, 3, 4


def _environment(given: dict) -> dict:
    return {name: value for name, value in os.environ.items() if name != "PGDATABASE"} | given


def attempt(*arguments, text: str = "", **environment: str) -> subprocess.CompletedProcess:
    """What the program says that ends by itself."""
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, input=text, env=_environment(environment), capture_output=True, text=True, timeout=GIVE_UP)


def run(database: str, *arguments, **more) -> str:
    done = attempt("-d", database, *arguments, **more)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def objects(output: str) -> list:
    """Of JSON lines."""
    return [json.loads(line) for line in output.splitlines()]


def as_role(role: str) -> dict:
    """The environment that makes a session that of a role, which need not be able to log in."""
    return {"PGOPTIONS": f"-c role={role}"}


class Follower:
    """The program while it runs, and the lines that it writes."""

    def __init__(self, *arguments, **environment: str):
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], env=_environment(environment), **pipes)
        self.lines: queue.Queue = queue.Queue()
        self.complaints: queue.Queue = queue.Queue()
        self._threads = [
            threading.Thread(target=self._read, args=pair)
            for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.complaints))
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(stream, lines: queue.Queue) -> None:
        for line in stream:
            lines.put(line.rstrip("\n"))

    def line(self) -> str:
        return self.lines.get(timeout=GIVE_UP)

    def object(self):
        return json.loads(self.line())

    def complaint(self) -> str:
        return self.complaints.get(timeout=GIVE_UP)

    def __enter__(self):
        return self

    def __exit__(self, *raised) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
