"""docs/endpoints.md has the endpoints of examples/ as they are, and what it says of signatures is so; the move from Fireworq moves jobs."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from support.example_endpoints import FILES, FOLDER
from support.webhooks import new_secret, signature

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "endpoints.md").read_text()
MOVE = (ROOT / "docs" / "moving" / "fireworq.md").read_text()
BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("language", FILES)
def test_the_page_has_the_example_as_it_is(language):
    file = FILES[language]
    shown = re.search(rf"\[{file.relative_to(FOLDER)}\]\(\.\./examples/endpoints/{file.relative_to(FOLDER)}\)\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert shown[1] == file.read_text()


# ---- Signatures -----------------------------------------------------------------------------------


def block_with(language: str, text: str) -> str:
    [found] = [code for info, code in BLOCK.findall(PAGE) if info == language and text in code]
    return found


def signed(secret: str, body: str, age: int = 0) -> dict:
    headers = {"webhook-id": "job_1", "webhook-timestamp": str(int(time.time()) - age)}
    return headers | {"webhook-signature": f"v1,c29tZXRoaW5n {signature(secret, headers, body.encode())}"}


def cases() -> list[tuple]:
    """(secret, headers, body, whether that is genuine)"""
    secret, body = new_secret(), '{"text": "ä"}'
    good = signed(secret, body)
    return [
        (secret, good, body, True),
        (new_secret(), good, body, False),
        (secret, good, body + " ", False),
        (secret, good | {"webhook-id": "job_2"}, body, False),
        (secret, signed(secret, body, age=1000), body, False),
    ]


def test_the_check_in_python_tells_what_is_genuine():
    names: dict = {}
    exec(block_with("python", "def is_genuine"), names)
    for secret, headers, body, is_so in cases():
        assert names["is_genuine"](secret, headers, body.encode()) is is_so


def test_the_check_in_javascript_tells_what_is_genuine(tmp_path):
    (tmp_path / "check.mjs").write_text(block_with("js", "isGenuine"))
    (tmp_path / "main.mjs").write_text(
        'import { isGenuine } from "./check.mjs"; import { readFileSync } from "node:fs";'
        "for (const [secret, headers, body] of JSON.parse(readFileSync(0))) console.log(isGenuine(secret, headers, body));"
    )
    given = cases()
    done = subprocess.run(["node", tmp_path / "main.mjs"], input=json.dumps(given), capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(case[3]).lower() for case in given]


# ---- The move from Fireworq -----------------------------------------------------------------------

EXPORTED = """
INSERT INTO fireworq.queue VALUES ('mail', 7, 2.5, 5), ('default', 20, NULL, NULL);
INSERT INTO fireworq.routing VALUES ('welcome', 'mail');
INSERT INTO fireworq.job VALUES
    ('mail', 1, 1500000000000, 3, 60, 1, 'welcome', 'http://example.org/welcome', '{"id":1}', 30),
    ('mail', 2, 4102444800000, 0, 0, 0, 'welcome', 'http://example.org/welcome', 'bare text', 0),
    ('mail', 3, 1500000000001, 0, 0, 0, 'welcome', 'http://example.org/other', '', 0),
    ('default', 1, 1500000000000, 0, 0, 0, 'report', 'http://example.org/report', '[1, 2]', NULL);
"""


def test_the_move_from_fireworq_moves_queues_routes_and_jobs(db, conn):
    tables, *steps = [code for info, code in BLOCK.findall(MOVE) if info == "sql"]
    conn.execute(tables + EXPORTED)
    for step in steps:
        conn.execute(step)
    # The jobs once more: those that are there stay alone.
    conn.execute(steps[-1].partition("$$;")[2])
    queue = "SELECT max_running, rate, rate_per = interval '0.4 s', burst, retry_base = interval '1 minute' FROM turnstile.queue WHERE name = %s"
    assert conn.execute(queue, ["mail"]).fetchone() == (7, 1, True, 5, True)
    assert conn.execute("SELECT pattern, queue FROM turnstile.route").fetchall() == [("welcome", "mail")]
    endpoints = "SELECT pattern, url, mode, extract(epoch FROM timeout)::int FROM turnstile.endpoint ORDER BY pattern"
    assert conn.execute(endpoints).fetchall() == [
        ("report", "http://example.org/report", "fireworq", None),
        ("welcome", "http://example.org/welcome", "fireworq", 30),
        ("welcome.2", "http://example.org/other", "fireworq", None),
    ]
    jobs = "SELECT queue, kind, payload, state, max_attempts, metadata->>'fireworq_id' FROM turnstile.job ORDER BY queue, metadata->>'fireworq_id'"
    assert conn.execute(jobs).fetchall() == [
        ("default", "report", [1, 2], "available", 1, "1"),
        ("mail", "welcome", {"id": 1}, "available", 4, "1"),
        ("mail", "welcome", "bare text", "scheduled", 1, "2"),
        ("mail", "welcome.2", None, "available", 1, "3"),
    ]
