"""A fresh private cluster for one benchmark, or the one that the environment points to."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lib.project import CLUSTER

# As durable as a production server. Large enough that no checkpoint starts inside a slice.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "30min",
}

CLIENT_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGOPTIONS")


def _command(*arguments: str) -> str:
    done = subprocess.run([CLUSTER, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _use(name: str) -> None:
    for variable in CLIENT_VARIABLES:
        os.environ.pop(variable, None)
    words = shlex.split(_command("env", name))
    os.environ.update(word.split("=", 1) for word in words if "=" in word)


@contextmanager
def benchmark_cluster(benchmark: str, here: bool, settings: dict[str, str] | None = None) -> Iterator[None]:
    """Makes the PG* variables point to the cluster to measure in; `here`: they already do."""
    if here:
        yield
        return
    name = f"bench_{benchmark}"
    pairs = [f"{setting}={value}" for setting, value in (SETTINGS | (settings or {})).items()]
    _command("destroy", name)
    try:
        _command("start", name, *pairs)
        _use(name)
        yield
    finally:
        _command("destroy", name)
