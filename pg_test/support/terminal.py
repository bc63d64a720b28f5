"""A terminal that a test can press keys in, look at and resize: tmux, with a server of its own."""

import contextlib
import os
import secrets
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

# No rule is about time; this only turns a test that would hang into one that fails.
GIVE_UP = 60


class Terminal:
    """Runs a command in a window of so many columns and rows."""

    def __init__(self, folder: Path, command: list[str], columns: int = 120, rows: int = 30):
        self._socket = str(folder / secrets.token_hex(4))
        self._ended = folder / "ended"
        told = f"{shlex.join(command)}; echo $? >{shlex.quote(str(self._ended))}"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), told)

    def _tmux(self, *arguments: str) -> str:
        own = os.environ | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["tmux", "-S", self._socket, *arguments], env=own, capture_output=True, text=True, timeout=GIVE_UP)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def press(self, *keys: str) -> None:
        """By the names that tmux gives them, or letters."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self) -> list[str]:
        return self._tmux("capture-pane", "-p").splitlines()

    def await_screen(self, *texts: str, without: tuple[str, ...] = ()) -> list[str]:
        """Until the screen has all of these, and none of those."""
        give_up = time.monotonic() + GIVE_UP
        while True:
            lines = self.screen()
            shown = "\n".join(lines)
            if all(text in shown for text in texts) and not any(text in shown for text in without):
                return lines
            assert time.monotonic() < give_up, f"no {texts}, or one of {without}, on the screen:\n{shown}"
            time.sleep(0.05)

    def await_end(self) -> int:
        """The exit code of the command."""
        give_up = time.monotonic() + GIVE_UP
        while not (self._ended.exists() and self._ended.read_text()):
            assert time.monotonic() < give_up, "it does not end:\n" + "\n".join(self.screen())
            time.sleep(0.05)
        return int(self._ended.read_text())

    def close(self) -> None:
        with contextlib.suppress(AssertionError):
            self._tmux("kill-server")


@contextlib.contextmanager
def terminal(*command: str, **size: int):
    # Not in TMPDIR: the path of a socket may have no more than 107 bytes.
    with tempfile.TemporaryDirectory(prefix="turnstile-tmux.", dir="/tmp") as folder:
        opened = Terminal(Path(folder), list(command), **size)
        try:
            yield opened
        finally:
            opened.close()
