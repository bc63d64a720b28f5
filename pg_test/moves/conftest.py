"""Servers of several versions. scripts/server makes each available, and `TURNSTILE_SERVER=NN make install` puts the extension into it."""

import os
import subprocess
from pathlib import Path

import pytest

from support.node import Node, home_of_nodes, programs

_ROOT = Path(__file__).resolve().parents[2]
VERSIONS = (os.environ.get("TURNSTILE_VERSIONS") or "15 16 17 18").split()


def programs_of(version: str) -> Path:
    script = f"source {_ROOT}/scripts/common.sh; server_config {version}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return programs(found.stdout.strip())


@pytest.fixture
def make_node():
    """Makes servers of a version, with their data where `initialize` is left to it."""
    with home_of_nodes() as home:
        nodes = []

        def make(version: str, name: str | None = None, **settings) -> Node:
            nodes.append(Node(home, name or version, programs_of(version), **settings))
            return nodes[-1]

        try:
            yield make
        finally:
            for node in nodes:
                node.destroy()
