"""The query of docs/operations.md that says for how many jobs of a queue there should be workers."""

import random
import re
from pathlib import Path

import pytest
import yaml
from support.calls import call, claim, claim_next, enqueue, enqueue_times
from support.programs import attempt
from support.settings import configure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
(QUERY,) = [text for language, text in BLOCKS if language == "sql" and "why_waiting_summary" in text]
WORLDS = 40


def _scaled_object() -> dict:
    (text,) = [text for language, text in BLOCKS if language == "yaml" and "ScaledObject" in text]
    return yaml.safe_load(text)


def _jobs(conn) -> int:
    ((number,),) = conn.execute(QUERY).fetchall()
    return number


def test_keda_asks_the_same():
    (trigger,) = _scaled_object()["spec"]["triggers"]
    assert trigger["metadata"]["query"].strip() == QUERY.strip()


def test_who_monitors_may_ask(conn, role):
    enqueue_times(conn, 2, queue="mail")
    conn.execute("SELECT turnstile.allow_monitor(%s::text::regrole)", [role])
    done = attempt("psql", "-XAtq", "-d", conn.info.dbname, text=QUERY, PGOPTIONS=f"-c role={role}")
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_queue_that_nobody_has_used_needs_none(conn):
    assert _jobs(conn) == 0


def test_jobs_without_limits_all_have_room(conn):
    enqueue_times(conn, 5, queue="mail")
    enqueue_times(conn, 3, queue="other")
    enqueue(conn, queue="mail", run_at="2999-01-01")
    assert _jobs(conn) == 5
    claim_next(conn, "mail")
    assert _jobs(conn) == 5


@pytest.mark.parametrize("pause", ["paused = true", "paused_until = 'tomorrow'"])
def test_a_paused_queue_needs_what_runs(conn, pause):
    enqueue_times(conn, 5, queue="mail")
    claim(conn, ["mail"], 2)
    conn.execute(f"INSERT INTO turnstile.queue (name) VALUES ('mail'); UPDATE turnstile.queue SET {pause} WHERE name = 'mail'")
    assert _jobs(conn) == 2


def test_a_queue_needs_no_more_than_its_slots(conn):
    call(conn, "set_queue", name="mail", max_running=3)
    enqueue_times(conn, 9, queue="mail")
    assert _jobs(conn) == 3
    claim(conn, ["mail"], 2)
    assert _jobs(conn) == 3
    claim_next(conn, "mail")
    assert _jobs(conn) == 3


@pytest.mark.parametrize(
    "table, limit, names",
    [
        ("tenant", {"name": "acme", "slots": 2}, {"tenant": "acme"}),
        ("account", {"tenant": "acme", "name": "a", "slots": 2}, {"tenant": "acme", "account": "a"}),
        ("concurrency", {"key": "api", "slots": 2}, {"concurrency_key": "api"}),
    ],
)
def test_others_than_the_queue_have_limits_too(conn, table, limit, names):
    columns = ", ".join(limit)
    conn.execute(f"INSERT INTO turnstile.{table} ({columns}) VALUES ({', '.join(['%s'] * len(limit))})", list(limit.values()))
    enqueue_times(conn, 9, queue="mail", **names)
    assert _jobs(conn) == 2
    enqueue(conn, queue="mail")
    assert _jobs(conn) == 3
    claim(conn, ["mail"], 9)
    assert _jobs(conn) == 3


def test_a_session_that_runs_needs_no_second_worker(conn):
    enqueue_times(conn, 4, queue="mail", session="chat")
    claim_next(conn, "mail")
    assert _jobs(conn) == 1


def test_a_rate_that_is_used_up_needs_what_runs(conn):
    enqueue_times(conn, 4, queue="mail")
    claim_next(conn, "mail")
    call(conn, "set_queue", name="mail", rate=1, rate_per="1 day", burst=1)
    claim(conn, ["mail"], 4)
    assert _jobs(conn) == conn.execute("SELECT count(*) FROM turnstile.job WHERE state = 'running'").fetchone()[0]


def _any_world(conn, chance: random.Random, sessions: list) -> None:
    configure(conn, "queue", "mail", max_running=chance.choice([None, 0, 1, 3, 8]), paused=chance.random() < 0.1)
    for tenant in ("acme", "bolt"):
        configure(conn, "tenant", tenant, slots=chance.choice([None, 0, 1, 4]))
    configure(conn, "concurrency", "api", slots=chance.choice([0, 1, 3]))
    for _ in range(chance.randrange(14)):
        enqueue(
            conn, queue=chance.choice(["mail", "mail", "mail", "other"]), tenant=chance.choice([None, "acme", "bolt"]),
            concurrency_key=chance.choice([None, None, "api"]), session=chance.choice(sessions),
            priority=chance.randrange(2),
        )  # fmt: skip
        if chance.random() < 0.2:
            claim_next(conn, chance.choice(["mail", "other"]))


def _running(conn) -> int:
    return conn.execute("SELECT count(*) FROM turnstile.job WHERE queue = 'mail' AND state = 'running'").fetchone()[0]


@pytest.mark.parametrize("sessions", [[None], [None, "s"]])
def test_it_is_a_bound(conn, seed, sessions):
    """Without sessions it is what runs once a claim finds nothing."""
    chance = random.Random(seed)
    exact = 0
    for _ in range(WORLDS):
        conn.execute("DELETE FROM turnstile.job")
        _any_world(conn, chance, sessions)
        said = _jobs(conn)
        started = claim(conn, ["mail"], 100)
        assert claim_next(conn, "mail") is None
        assert _running(conn) <= said
        if sessions == [None]:
            assert _jobs(conn) == _running(conn)
        exact += bool(started) and said == _running(conn)
    assert exact > 0
