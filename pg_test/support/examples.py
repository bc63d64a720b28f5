"""The workers of examples/, as processes."""

import os
import signal
import subprocess
from pathlib import Path

from support.sleepers import until

ROOT = Path(__file__).parents[2]
EXAMPLES, BUILT = ROOT / "examples", ROOT / "target" / "examples"

COMMANDS = {
    "psql": [EXAMPLES / "psql" / "worker.sh"],
    "python": [BUILT / "venv" / "bin" / "python", EXAMPLES / "python" / "worker.py"],
    "node": ["node", EXAMPLES / "node" / "worker.js"],
    "rust": [BUILT / "debug" / "worker"],
}

# Far less than the minute that a worker sleeps, so who is not woken by a signal is found out.
PATIENCE = 40


class Worker:
    def __init__(self, language: str, url: str, queue: str = "default"):
        command = [*map(str, COMMANDS[language]), queue]
        self.process = subprocess.Popen(
            command, env=environment(url), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """It stands still until it is told to continue."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Once this returns it has taken notice."""
        self.process.send_signal(signal.SIGTERM)
        until(self._is_at_rest, "the worker has got the signal")

    def _is_at_rest(self) -> bool:
        """It waits for something, or is gone; a process to which a signal is on its way does not."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        pending = int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)
        return status["State"].split()[0] in "SZ" and not pending & 1 << (signal.SIGTERM - 1)

    def ended(self) -> tuple[int, str]:
        """Its exit status and all that it has printed."""
        output, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, output

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def environment(url: str) -> dict:
    """No PG… of the test's own: a worker knows its database from DATABASE_URL alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | {"DATABASE_URL": url}
