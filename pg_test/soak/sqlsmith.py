"""sqlsmith: random queries over all tables, views and functions, as a role that may do all with the schema and no more."""

import os
import re
import shutil
import subprocess
import time

from faults.cluster import own_cluster
from faults.witness import differences
from support.calls import claim, complete_many, enqueue_times
from support.database import fresh_database

_BROKEN = re.compile(r"PANIC|panicked|terminated by signal|TRAP:")
# What the server itself gives for random queries, with or without the extension, is not our matter.
_INTERNAL = re.compile(r" XX\d\d\d ERROR")
_OURS = re.compile(r"turnstile", re.IGNORECASE)
SETTINGS = {"fsync": "off", "max_connections": 30, "log_line_prefix": "%m [%p] %e ", "statement_timeout": "2s", "temp_file_limit": "1GB"}
GRANTS = """
    CREATE ROLE smith LOGIN;
    GRANT USAGE ON SCHEMA turnstile TO smith;
    GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO smith;
    GRANT ALL ON ALL TABLES IN SCHEMA turnstile TO smith;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA turnstile TO smith;
    GRANT CREATE ON SCHEMA public TO smith;
"""
PRESENT = 200


def forge(seconds: float, seed: int) -> dict:
    """Lets sqlsmith at a database whose queue is at work; returns how many queries there were, and what is wrong."""
    if shutil.which("sqlsmith") is None:
        return {"problems": ["sqlsmith is not installed: make setup"]}
    with own_cluster(f"sqlsmith_{os.getpid()}", **SETTINGS) as cluster, fresh_database() as database:
        conn = database.connect()
        conn.execute(GRANTS)
        postmaster = cluster.pid
        queries, problems, end = 0, [], time.monotonic() + seconds
        try:
            while time.monotonic() < end and not problems:
                enqueue_times(conn, PRESENT)
                run = _some(database.name, seed + queries, min(60.0, end - time.monotonic()))
                queries += run
                complete_many(conn, claim(conn, ["default"], 50))
                problems = [f"check: {found}" for found in differences(conn)]
                conn.execute("DELETE FROM turnstile.job WHERE state = 'available'")
        finally:
            conn.execute("DROP OWNED BY smith; DROP ROLE smith")
        problems += _in_log(cluster.log)
        if cluster.pid != postmaster:
            problems.append("the server was restarted")
        return {"queries": queries, "problems": problems[:20]}


def _some(dbname: str, seed: int, seconds: float) -> int:
    """Runs sqlsmith for a while; how many queries it made."""
    command = ["sqlsmith", f"--target=dbname={dbname} user=smith", f"--seed={seed}", "--exclude-catalog", "--verbose"]
    # It writes a sign for each query, and its counts now and then: what a query led to is in the server's log.
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as smith:
        try:
            errors = smith.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            smith.terminate()
            errors = smith.communicate()[1]
    counts = re.findall(r"queries: (\d+)", errors)
    return int(counts[-1]) if counts else 0


def _in_log(log: str) -> list[str]:
    """Crashes and panics, and internal errors of which the extension is a part."""
    found, lines = [], log.splitlines()
    for number, line in enumerate(lines):
        if _BROKEN.search(line) or _INTERNAL.search(line) and _OURS.search(_details(line, lines[number + 1 :])):
            found.append(line[:300])
    return found


def _details(line: str, following: list[str]) -> str:
    """An error with its context, without the statement: that is full of our names."""
    parts = [line]
    for other in following:
        if "CONTEXT: " in other or "DETAIL: " in other:
            parts.append(other)
        elif "STATEMENT: " in other or "ERROR: " in other:
            break
    return "\n".join(parts)
