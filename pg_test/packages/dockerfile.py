"""Carries out the steps of a Dockerfile in a fresh system, for want of Docker. What it does not know, it refuses.

Of what a builder does it leaves out what makes images: layers, and a registry to take the first one from.
"""

import fnmatch
import json
import re
import string
from dataclasses import dataclass, field
from pathlib import Path

from support.system import System

BASE = re.compile(r"debian:(\w+)-slim")


def instructions(text: str) -> list[tuple[str, str]]:
    """Each with its argument; lines are joined, and comments are left out, also between lines that are joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def _is_sent(path: Path, ignored: list[str]) -> bool:
    """Whether a file is part of the context: the last pattern that fits decides."""
    sent = True
    for pattern in ignored:
        if fnmatch.fnmatch(str(path), pattern.removeprefix("!")):
            sent = pattern.startswith("!")
    return sent


@dataclass
class Image:
    """What a Dockerfile makes of a fresh system."""

    dockerfile: Path
    context: Path
    given: dict[str, str]
    folder: Path
    system: System | None = None
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    user: str | None = None
    stop_signal: str = "SIGTERM"
    healthcheck: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)

    def build(self) -> "Image":
        for name, argument in instructions(self.dockerfile.read_text()):
            getattr(self, f"_{name.lower()}")(argument)
        return self

    def _filled(self, text: str) -> str:
        return string.Template(text).substitute(self.arguments | self.environment)

    def _arg(self, argument: str) -> None:
        name, _, default = argument.partition("=")
        self.arguments[name] = self.given.get(name, default)

    def _from(self, argument: str) -> None:
        base = self._filled(argument)
        self.system = System(BASE.fullmatch(base)[1], self.folder)
        # Those before FROM are known to it alone.
        self.arguments = {}

    def _env(self, argument: str) -> None:
        self.environment |= dict(pair.split("=", 1) for pair in self._filled(argument).split())

    def _run(self, argument: str) -> None:
        self.system.run("/bin/sh", "-c", argument, user=self.user, environment=self.arguments | self.environment)

    def _copy(self, argument: str) -> None:
        *sources, there = self._filled(argument).split()
        ignored = Path(f"{self.dockerfile}.dockerignore").read_text().split()
        for source in sources:
            found = [path for path in self.context.glob(source) if _is_sent(path.relative_to(self.context), ignored)]
            assert found, f"COPY finds no {source}"
            for path in found:
                self.system.put(path, there)

    def _user(self, argument: str) -> None:
        self.user = argument

    def _volume(self, argument: str) -> None:
        self.volumes.append(argument)

    def _expose(self, argument: str) -> None:
        self.ports.append(argument)

    def _stopsignal(self, argument: str) -> None:
        self.stop_signal = argument

    def _healthcheck(self, argument: str) -> None:
        self.healthcheck = json.loads(argument.partition("CMD ")[2])

    def _entrypoint(self, argument: str) -> None:
        self.entrypoint = json.loads(argument)

    def _cmd(self, argument: str) -> None:
        self.command = json.loads(argument)
