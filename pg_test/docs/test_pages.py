"""The documentation holds: its links lead somewhere, and its SQL runs.

Every block that begins with ```sql is run as it stands, in order, in a database for each page. A block that cannot run
here says why after the word: ```sql needs pg_cron.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [path for folder in (".", "docs", "docs/decisions", "examples") for path in sorted((ROOT / folder).glob("*.md"))]

# What a page takes for granted.
GIVEN = {
    "README.md": "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY, item text)",
    "docs/waiting.md": "SELECT turnstile.enqueue('mail', queue => 'mail') FROM generate_series(1, 2)",
    "docs/security.md": "DROP ROLE IF EXISTS app, mailer, acme, operator, authenticator, web_user, queue_gate, web_tenants, crawler",
    "examples/README.md": "DROP ROLE IF EXISTS worker; CREATE ROLE worker",
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


WITH_SQL = {name_of(path): runnable(path.read_text()) for path in PAGES if runnable(path.read_text()).strip()}


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


@pytest.mark.parametrize("page", [name_of(path) for path in PAGES])
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text())
    lost = [link for link in links if "://" not in link and not (ROOT / page).parent.joinpath(link).exists()]
    assert lost == []


def test_an_error_is_found_at_its_line(db):
    page = "text\n```sql\nSELECT 1;\nSELECT nonsense;\n```\n```sh\nfalse\n```\n"
    assert '<stdin>:4: ERROR:  column "nonsense" does not exist' in run(db.name, runnable(page))
