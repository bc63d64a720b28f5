"""The documentation holds: its links lead somewhere, and its SQL runs.

Every block that begins with ```sql is run as it stands, in order, in a database for each page. A block that cannot run
here says why after the word: ```sql needs pg_cron. Of the tutorial every block runs, in whatever language.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.database import fresh_database
from support.node import await_true

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.md")),
    *sorted((ROOT / "examples" / "apps").glob("README.md")), *sorted((ROOT / "examples" / "apps").glob("*/README.md")),
    ROOT / "bench" / "README.md", ROOT / "demo" / "README.md",
]  # fmt: skip
TUTORIAL = ROOT / "docs" / "start.md"
# Its servers have tests of their own.
ENDPOINTS = ROOT / "docs" / "endpoints.md"

# What a page takes for granted.
GIVEN = {
    "README.md": "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY, item text)",
    "docs/concepts/waiting.md": "SELECT turnstile.enqueue('mail', queue => 'mail') FROM generate_series(1, 2)",
    "docs/dashboard.md": "DROP ROLE IF EXISTS operators, dashboard",
    "docs/http-in.md": "DROP ROLE IF EXISTS shop, http_in",
    "docs/operations.md": "DROP ROLE IF EXISTS exporter",
    "docs/security.md": "DROP ROLE IF EXISTS app, mailer, acme, operator",
    "docs/recipes.md": "DROP ROLE IF EXISTS acme, authenticator, web_user, queue_gate, web_tenants, crawler",
    "examples/README.md": "DROP ROLE IF EXISTS worker",
}

FENCE = re.compile(r"\s*```(.*)")


def runnable(page: str) -> str:
    """The SQL of a page, each line where it stands in the page, so that psql names the right one."""
    lines, info = [], None
    for line in page.splitlines():
        if fence := FENCE.fullmatch(line):
            info = fence[1].strip() if info is None else None
            lines.append("")
        else:
            lines.append(line if info == "sql" else "")
    return "\n".join(lines)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


WITH_SQL = {
    name_of(path): runnable(path.read_text()) for path in PAGES if path != TUTORIAL and runnable(path.read_text()).strip()
}


def run(database: str, script: str) -> str:
    """What psql complains of."""
    command = ["psql", "-X", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", "-", database]
    environment = os.environ | {"PGOPTIONS": "-c statement_timeout=60s"}
    result = subprocess.run(command, input=script, env=environment, capture_output=True, text=True)
    return result.stderr if result.returncode else ""


@pytest.mark.parametrize("page", WITH_SQL)
def test_the_sql_of_a_page_runs(db, page):
    assert run(db.name, GIVEN.get(page, "")) == ""
    assert run(db.name, WITH_SQL[page]) == ""


INTERPRETERS = {
    "sql": ["psql", "-X", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", "-"],
    "sh": ["bash", "-euo", "pipefail"],
    "python": [sys.executable, "-"],
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


LIBRARY = ROOT / "clients" / "python" / "src"
# Where a block of Python ends by a signal.
RUNS = "worker.run()\n"


def _await_ends(database, worker: subprocess.Popen) -> None:
    ended = "SELECT EXISTS (TABLE turnstile.job_history) AND NOT EXISTS (TABLE turnstile.job)"
    await_true(lambda: worker.poll() is not None or database.connect().execute(ended).fetchone()[0], "all jobs have ended")
    worker.terminate()


def _run_block(database, language: str, text: str) -> None:
    environment = os.environ | {"PGDATABASE": database.name, "PGOPTIONS": "-c statement_timeout=60s", "PYTHONPATH": str(LIBRARY)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(INTERPRETERS[language], **pipes, env=environment, text=True) as block:
        block.stdin.write(text)
        block.stdin.close()
        block.stdin = None
        if text.endswith(RUNS):
            _await_ends(database, block)
        _, errors = block.communicate(timeout=60)
        assert (block.returncode, errors) == (0, ""), text


PYTHON = [
    (name_of(path), text) for path in PAGES if path not in (TUTORIAL, ENDPOINTS)
    for text in re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
]  # fmt: skip


@pytest.mark.parametrize(("page", "text"), PYTHON, ids=[f"{page}-{nth}" for nth, (page, _) in enumerate(PYTHON)])
def test_the_python_of_a_page_runs(db, page, text):
    _run_block(db, "python", text)
    ended = db.connect().execute("SELECT bool_and(state = 'completed') FROM turnstile.jobs").fetchone()[0]
    assert ended in (None, True)


def test_each_command_of_the_tutorial_runs():
    blocks = BLOCK.findall(TUTORIAL.read_text())
    assert len(blocks) == TUTORIAL.read_text().count("```") / 2
    with fresh_database(extension=False) as database:
        for language, text in blocks:
            _run_block(database, language, text)
        states = database.connect().execute("SELECT state, count(*) FROM turnstile.jobs GROUP BY 1 ORDER BY 1").fetchall()
        assert states == [("available", 1), ("completed", 15), ("running", 2)]


def _anchor(heading: str) -> str:
    """As GitHub makes it of a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _anchors(path: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", [name_of(path) for path in PAGES])
def test_links_lead_somewhere(page):
    here = ROOT / page
    lost = []
    for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", here.read_text()):
        there = here.parent / link if link else here
        if "://" in link:
            continue
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            lost.append(f"{link}#{anchor}")
    assert lost == []


def test_each_page_is_reached_from_the_index():
    seen, ahead = set(), [ROOT / "docs" / "README.md"]
    while ahead:
        page = ahead.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.is_relative_to(ROOT / "docs"):
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
        ahead += [page.parent / link for link in links if "://" not in link]
    assert {name_of(path) for path in (ROOT / "docs").rglob("*.md") if path not in seen} == set()


def test_an_error_is_found_at_its_line(db):
    page = "text\n```sql\nSELECT 1;\nSELECT nonsense;\n```\n```sh\nfalse\n```\n"
    assert '<stdin>:4: ERROR:  column "nonsense" does not exist' in run(db.name, runnable(page))
