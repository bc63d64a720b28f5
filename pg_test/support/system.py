"""A fresh Debian in a folder, in which programs run by chroot, as root.

Where the kernel lets nobody mount /proc, as in a container, it holds what Debian's scripts look for there: the command lines
of what runs in the system.
"""

import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AS_ROOT = ["sudo"] if os.geteuid() else []
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


# The mount goes with the process.
WITH_PROC = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec "$@"']


def _can_mount() -> bool:
    return subprocess.run([*AS_ROOT, *WITH_PROC, "", "true"], capture_output=True).returncode == 0


class System:
    """One such system. What runs in it has only the environment that it is given."""

    def __init__(self, suite: str, folder: Path):
        self.folder = folder
        self._proc = [*WITH_PROC, folder] if _can_mount() else []
        subprocess.run([ROOT / "scripts" / "clean-system", suite, folder], check=True, capture_output=True, text=True)

    def processes(self) -> list[int]:
        """Those that run in it."""
        looking = [*AS_ROOT, "find", "/proc", "-maxdepth", "2", "-name", "root", "-lname", self.folder]
        found = subprocess.run(looking, capture_output=True, text=True).stdout
        return [int(path.split("/")[2]) for path in found.split()]

    def _show_processes(self) -> None:
        proc = self.folder / "proc"
        subprocess.run([*AS_ROOT, "find", proc, "-mindepth", "1", "-delete"], check=True)
        for process in self.processes():
            copied = f'mkdir "$1" && cat "/proc/{process}/cmdline" >"$1/cmdline"'
            subprocess.run([*AS_ROOT, "sh", "-c", copied, "sh", proc / str(process)], capture_output=True)

    def remove(self) -> None:
        for signal in ("-INT", "-KILL"):
            give_up = time.monotonic() + 20
            while (left := self.processes()) and time.monotonic() < give_up:
                subprocess.run([*AS_ROOT, "kill", signal, *map(str, left)], capture_output=True)
                time.sleep(0.2)
        subprocess.run([*AS_ROOT, "rm", "-rf", "--one-file-system", self.folder], check=True)

    def _command(self, arguments, user: str | None, environment: dict, cwd: str) -> list:
        variables = {"PATH": PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"} | environment
        given = [f"{name}={value}" for name, value in variables.items()]
        who = ["runuser", "-u", user, "--"] if user else []
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', cwd, *arguments]
        if not self._proc:
            self._show_processes()
        return [*AS_ROOT, *self._proc, "chroot", self.folder, "/usr/bin/env", "-i", *given, *who, *inside]

    def start(self, *arguments, user: str | None = None, environment: dict | None = None, cwd: str = "/", **options) -> subprocess.Popen:
        return subprocess.Popen(self._command(arguments, user, environment or {}, cwd), stdin=subprocess.DEVNULL, **options)

    def attempt(self, *arguments, user=None, environment=None, cwd="/", text: str = "") -> subprocess.CompletedProcess:
        command = self._command(arguments, user, environment or {}, cwd)
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)

    def run(self, *arguments, **options) -> str:
        """What the command has printed; it must succeed."""
        done = self.attempt(*arguments, **options)
        assert done.returncode == 0, f"{arguments} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def script(self, text: str, **options) -> str:
        return self.run("sh", "-eu", **options, text=text)

    def put(self, file: Path, place: str) -> None:
        """A place that ends in a slash is a folder."""
        there = self.inside(place + (file.name if place.endswith("/") else ""))
        subprocess.run([*AS_ROOT, "install", "-D", "-m", f"{file.stat().st_mode & 0o777:o}", file, there], check=True)

    def inside(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def has(self, path: str) -> bool:
        return self.attempt("test", "-e", path).returncode == 0 or self.attempt("test", "-L", path).returncode == 0
