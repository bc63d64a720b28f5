"""pg_dump and pg_restore from the oldest version to the newest, with the commands of docs/operations.md."""

from moves import content
from moves.conftest import VERSIONS

DATABASE = "jobs"


def test_from_the_oldest_version_to_the_newest(make_node, seed):
    old, new = make_node(VERSIONS[0], "old"), make_node(VERSIONS[-1], "new")
    for node in (old, new):
        node.initialize()
        node.start()
    with old.connect() as conn:
        conn.execute(f"CREATE DATABASE {DATABASE}")
    with old.connect(DATABASE) as conn:
        conn.execute("CREATE EXTENSION turnstile")
        made = content.make(conn, seed)
        before = content.said(conn)
        content.forget_strange_options(conn)
    dump = new.home / "jobs.dump"
    new.run("pg_dump", "-Fc", "-f", dump, "-d", f"{old.address} dbname={DATABASE}")
    with new.connect() as conn:
        content.make_role(conn)
        conn.execute(f"CREATE DATABASE {DATABASE}")
    target = f"{new.address} dbname={DATABASE}"
    new.run("pg_restore", "--exit-on-error", "--section=pre-data", "-d", target, dump)
    with new.connect(DATABASE) as conn:
        conn.execute(content.OWN_COLUMNS)
    new.run("pg_restore", "--exit-on-error", "--section=data", "--section=post-data", "-d", target, dump)
    with new.connect(DATABASE) as conn:
        conn.execute(content.OWN_REST)
        after = content.said(conn)
        other = {name: set(after[name]) ^ set(rows) for name, rows in before.items()}
        # The connection to which it was bound is gone: the new server may have failed it already.
        other["turnstile.job"] = {row for row in other["turnstile.job"] if not row.startswith(f"({made.bound},")}
        assert {name: rows for name, rows in other.items() if rows} == {}
        content.goes_on(conn, made)
