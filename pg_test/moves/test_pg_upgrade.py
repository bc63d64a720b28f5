"""pg_upgrade from each version to the next, with the commands of docs/operations.md: it brings everything along."""

import pytest

from moves import content
from moves.conftest import VERSIONS
from support.node import Node

DATABASE = "jobs"
# What the server does from 18 on unless told otherwise; both must do the same.
CHECKSUMS = {"18": ["--no-data-checksums"]}


def initialized(node: Node, version: str) -> Node:
    node.initialize(*CHECKSUMS.get(version, []))
    return node


def upgrade(old: Node, new: Node, *options: str) -> None:
    """Neither runs."""
    try:
        new.run(
            "pg_upgrade", "-b", old.programs, "-B", new.programs, "-d", old.data, "-D", new.data, "-U", "postgres",
            "-p", str(old.port), "-P", str(new.port), "-s", new.home, *options,
        )  # fmt: skip
    except AssertionError:
        for log in (new.data / "pg_upgrade_output.d").glob("*/log/pg_upgrade_dump_*.log"):
            print(log.name, log.read_text()[-1500:])
        raise


@pytest.mark.parametrize("options", [[], ["--link"]], ids=["copy", "link"])
def test_each_version_to_the_next(make_node, seed, options):
    nodes = [initialized(make_node(version), version) for version in VERSIONS]
    old = nodes[0]
    old.start()
    with old.connect() as conn:
        conn.execute(f"CREATE DATABASE {DATABASE}")
    with old.connect(DATABASE) as conn:
        conn.execute("CREATE EXTENSION turnstile")
        made = content.make(conn, seed)
    for new in nodes[1:]:
        with old.connect(DATABASE) as conn:
            content.settle(conn, made)
            before = content.said(conn)
            content.forget_strange_options(conn)
        old.stop()
        upgrade(old, new, *options)
        new.start()
        with new.connect(DATABASE) as conn:
            assert content.said(conn) == before, f"from {old.name} to {new.name}"
        old = new
    with old.connect(DATABASE) as conn:
        content.goes_on(conn, made)
