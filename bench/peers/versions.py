"""What was measured on, and with which settings."""

import json
import subprocess

from lib.database import Database
from lib.environment import facts
from peers.places import FETCHED


def _python() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("procrastinate", "pgqueuer", "awa-pg", "psycopg", "asyncpg"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _node() -> dict[str, str]:
    found = {}
    for name in ("graphile-worker", "pg-boss", "pg"):
        manifest = FETCHED / "node" / "node_modules" / name / "package.json"
        found[name] = json.loads(manifest.read_text())["version"] if manifest.exists() else "missing"
    return found


def _pgmq() -> dict[str, str]:
    control = FETCHED / "pgmq" / "pgmq.control"
    lines = control.read_text().splitlines() if control.exists() else []
    value = next((line.split("'")[1] for line in lines if line.startswith("default_version")), "missing")
    return {"PGMQ": value}


def _program(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "missing"


def describe() -> list[list[str]]:
    database = Database()
    rows = facts(database)
    pgq = "SELECT default_version FROM pg_available_extensions WHERE name = 'pgq'"
    found = database.connection.execute(pgq).fetchone()
    database.close()
    packages = _pgmq() | {"PgQ": found[0] if found else "missing"} | _node() | _python()
    return rows + [[name, value] for name, value in packages.items()] + [["Node", _program("node", "--version")]]
