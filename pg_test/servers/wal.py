"""What a transaction has written to the server's log."""

import re
import subprocess
from collections import Counter

RECORD = re.compile(r"rmgr: (\w+) .* desc: (\w+)", re.MULTILINE)
# Changes of rows, and their locks.
KINDS = {"Heap UPDATE", "Heap HOT_UPDATE", "Heap DELETE", "Heap INSERT", "Heap LOCK", "Heap2 MULTI_INSERT"}
PLACES = """
SELECT current_setting('data_directory'), setting FROM pg_config WHERE name = 'BINDIR'
"""
# Where a record ends, which other places in the log need not be. A transactional one is on disk when its statement returns.
MARK = "pg_logical_emit_message({}, 'turnstile', '')"


def written(conn, call) -> tuple[object, dict[str, int]]:
    """Runs a call in a transaction, and gives its result and its records by kind."""
    data, programs = conn.execute(PLACES).fetchone()
    with conn.transaction():
        xid, begin = conn.execute("SELECT pg_current_xact_id()::text, " + MARK.format("false")).fetchone()
        result = call()
    (end,) = conn.execute("SELECT " + MARK.format("true")).fetchone()
    # Without a file it learns the size of segments from any, also from one that the server is only about to make.
    (segment,) = conn.execute("SELECT pg_walfile_name(%s)", [begin]).fetchone()
    command = [f"{programs}/pg_waldump", "--path", f"{data}/pg_wal", "--xid", xid, "--start", begin, "--end", end, segment]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = Counter(f"{manager} {kind}" for manager, kind in RECORD.findall(done.stdout))
    return result, {kind: count for kind, count in found.items() if kind in KINDS}
