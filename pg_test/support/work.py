"""`turnstile work` as a process, and the processes that come of it."""

import os
import secrets
import signal
import subprocess
import tempfile
from pathlib import Path

from support.sleepers import PATIENCE, until

ROOT = Path(__file__).parents[2]
# TURNSTILE_PROGRAM: another build of it.
PROGRAM = os.environ.get("TURNSTILE_PROGRAM") or str(ROOT / "target/release/turnstile")
EVERYTHING = Path(PROGRAM).parent / "examples" / "everything"
# In the environment of all that a program has started, whatever becomes of its parents.
MARK = "TURNSTILE_TEST_MARK"


class Started:
    """A process with all that it starts."""

    def __init__(self, words: list, replaced: dict | None = None, **environment: str):
        """`replaced`: the environment in place of the test's own."""
        self.mark = secrets.token_hex(8)
        self.printed, self.said = (tempfile.TemporaryFile("w+", errors="replace") for _ in range(2))
        self.process = subprocess.Popen(
            list(map(str, words)),
            env=dict(replaced or os.environ) | environment | {MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=self.said,
        )

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def terminate(self) -> None:
        self.signal(signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ended(self) -> tuple[int, str]:
        """Its exit status and what it has written to standard error."""
        status = self.process.wait(PATIENCE)
        return status, self.stderr()

    def stderr(self) -> str:
        return read(self.said)

    def stdout(self) -> str:
        return read(self.printed)

    def family(self) -> dict[int, str]:
        """The command lines of all that it has started and that still runs, by process."""
        family = marked(self.mark)
        family.pop(self.process.pid, None)
        return family

    def leaves_nothing(self) -> None:
        until(lambda: not self.family(), "no process is left", self.family)


class Work(Started):
    """A `turnstile work`."""

    def __init__(self, database: str, *arguments, command: list, limits: str | None = None, **environment: str):
        """`limits`: what a shell runs before it becomes the program."""
        words = [PROGRAM, "work", "--database", database, *arguments, "--", *command]
        if limits:
            words = ["sh", "-c", f'{limits}; exec "$@"', "sh", *words]
        super().__init__(words, **{"TURNSTILE_LOG": "info"} | environment)

    def commands(self) -> dict[int, str]:
        return {pid: line for pid, line in self.family().items() if "keep-process-groups" not in line}

    def keepers(self) -> list[int]:
        return [pid for pid, line in self.family().items() if "keep-process-groups" in line]


class Library(Started):
    """A worker on the library for Rust: crates/client/examples/everything.rs."""

    def __init__(self, url: str, drain: float = 30, grace: float = 10):
        super().__init__([EVERYTHING, drain, grace], DATABASE_URL=url)


def read(file) -> str:
    """By another offset than that of the process, which goes on writing at its end."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def marked(mark: str) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
