"""docs/http-in.md: its commands run as they stand, but for the port, and print what the page says."""

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from support.program import GIVE_UP, PROGRAM
from support.system import ROOT

PAGE = (ROOT / "docs" / "http-in.md").read_text()
BLOCK = re.compile(r"^```(sql|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> str:
    return "\n".join(text for found, text in BLOCK.findall(PAGE) if found == language)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.fixture
def roles(db, conn):
    conn.execute("DROP ROLE IF EXISTS shop, http_in")
    yield
    conn.execute("DROP OWNED BY shop, http_in; DROP ROLE shop, http_in")


def test_its_commands_run(db, conn, roles, tmp_path):
    conn.execute(blocks("sql"))
    script = "trap 'kill %1; wait' EXIT\n" + blocks("sh").replace(":8080", f":{free_port()}").replace('"user=http_in"', f'"user=http_in dbname={db.name}"')
    environment = os.environ | {"PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=GIVE_UP)
    assert done.returncode == 0, done
    answers = re.findall(r"ready|\{.*?\}(?=\{|ready|$)", done.stdout.replace("\n", ""))
    assert answers[0] == "ready"
    one, many, first, again, shown, cancelled = map(json.loads, answers[1:])
    assert one["created"] and [each["created"] for each in many["jobs"]] == [True, True]
    assert (first["created"], again) == (True, {"id": first["id"], "created": False})
    assert (shown["state"], shown["kind"], cancelled) == ("available", "report", {"id": shown["id"], "state": "cancelled"})
    kinds = conn.execute("SELECT kind, count(*) FROM turnstile.jobs GROUP BY kind ORDER BY kind").fetchall()
    assert kinds == [("invoice", 1), ("report", 1), ("welcome", 3)]


def test_it_has_each_status_that_the_document_has(serve):
    table = set(re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE))
    paths = serve().document()["paths"].values()
    told = {status for methods in paths for operation in methods.values() for status in operation["responses"]}
    assert told - {"200", "201"} == table


def test_it_has_each_argument(conn):
    names = conn.execute("SELECT proargnames FROM pg_proc WHERE proname = 'enqueue'").fetchone()[0]
    assert [name for name in names[2:] if f"`{name}" not in PAGE] == []
