"""The commands that change and explain jobs: what they print, and which exit code tells what went wrong."""

import json

import pytest
from psycopg.types.json import Jsonb

from support import program
from support.calls import call, claim_next, enqueue
from support.failing import failing

COMMANDS = {
    "enqueue": ["enqueue", "mail"],
    "why": ["why", "1"],
    "retry": ["retry", "1"],
    "retry by filter": ["retry", "--queue", "mail"],
    "cancel": ["cancel", "1"],
    "cancel by filter": ["cancel", "--queue", "mail"],
    "tail": ["tail"],
    "top": ["top", "--once"],
    "check": ["check"],
}


def _states(conn) -> dict[int, str]:
    """The newest of each job: a live one, else the last that ended."""
    rows = conn.execute("SELECT id, state FROM turnstile.jobs ORDER BY finished_at NULLS LAST").fetchall()
    return dict(rows)


def _ended(conn, how: str = "complete", **arguments) -> int:
    job_id = enqueue(conn, **arguments)
    run = claim_next(conn, arguments.get("queue", "default"))
    assert run.id == job_id
    given = {"complete": {}, "fail": {"error": "no such address", "discard": True}}[how]
    call(conn, how, job_id=run.id, attempt=run.attempt, **given)
    return job_id


# ---- What they have in common ---------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_without_rights_the_server_refuses(attempt, conn, role, name):
    enqueue(conn, queue="mail")
    done = attempt(*COMMANDS[name], **program.as_role(role))
    assert done.returncode == program.REFUSED and done.stdout == ""
    assert "42501" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_server_there_is_an_exit_code_of_its_own(relay, name):
    relay.cut()
    place = f"postgresql://postgres@127.0.0.1:{relay.port}/postgres"
    done = program.attempt("-d", place, *COMMANDS[name])
    assert (done.returncode, done.stdout) == (program.NO_SERVER, "")
    assert f"127.0.0.1:{relay.port}" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_database_there_is_no_server_either(name):
    done = program.attempt("-d", "no such database", *COMMANDS[name])
    assert (done.returncode, done.stdout) == (program.NO_SERVER, "")
    assert "3D000" in done.stderr


def test_a_standby_or_a_database_without_the_extension_is_told(attempt, conn):
    conn.execute("DROP EXTENSION turnstile CASCADE")
    done = attempt("enqueue", "mail")
    assert done.returncode == program.REFUSED and "3F000" in done.stderr
    for arguments in (["check"], ["work", "--", "true"], ["dispatch"]):
        done = attempt(*arguments)
        assert (done.returncode, "HINT:  Run CREATE EXTENSION turnstile" in done.stderr) == (program.REFUSED, True), arguments
    shown = attempt("why", "1", "--json")
    assert "CREATE EXTENSION" in program.objects(shown.stdout)[0]["error"]["hint"]
    conn.execute("CREATE EXTENSION turnstile")


@pytest.mark.parametrize(
    "arguments",
    [
        ["enqueue"],
        ["enqueue", "mail", "{order: 7}"],
        ["enqueue", "mail", "@/nowhere/payload.json"],
        ["enqueue", "mail", "--metadata", "{"],
        ["enqueue", "mail", "--run-at", "now", "--in", "1s"],
        ["enqueue", "mail", "--in", "soon"],
        ["enqueue", "mail", "--after-any-end"],
        ["why"],
        ["why", "one"],
        ["retry"],
        ["retry", "1", "--queue", "mail"],
        ["cancel", "1", "--limit", "1"],
        ["cancel", "--limit", "1"],
        ["cancel", "99999999999999999999"],
        ["tail", "--every", "999ms"],
        ["tail", "--lines", "11"],
        ["tail", "--oldest", "--after", "x"],
        ["tail", "--state", "running"],
        ["top", "--json"],
        ["top"],
        ["nothing"],
    ],
    ids=" ".join,
)
def test_what_means_nothing_is_refused_before_anything_is_done(attempt, conn, arguments):
    done = attempt(*arguments)
    assert (done.returncode, done.stdout) == (program.USAGE, "")
    assert done.stderr
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)


@pytest.mark.parametrize("name", ["retry", "cancel"])
def test_who_names_no_jobs_is_told_of_filters(attempt, name):
    done = attempt(name)
    assert done.returncode == program.USAGE
    assert "ids" in done.stderr and "--queue" in done.stderr


@pytest.mark.parametrize("name", ["work", "top", "tail", "why", "enqueue", "retry", "cancel", "check"])
def test_each_command_has_a_page_of_help(name):
    page = program.attempt("help", name)
    assert (page.returncode, page.stderr) == (0, "")
    for heading in (f"Usage: turnstile {name}", "Options:", "Examples:", "Exit status:", "Environment:"):
        assert f"\n{heading}" in page.stdout
    assert f"\n  turnstile {name}" in page.stdout
    assert f"\n  {name} " in program.attempt("help").stdout


# ---- enqueue --------------------------------------------------------------------------------------


def test_enqueue_takes_the_payload_from_anywhere(turnstile, conn, tmp_path):
    file = tmp_path / "payload.json"
    file.write_text('{"from": "a file"}\n')
    given = [
        ([], ""),
        (['{"from": "an argument"}'], ""),
        ([f"@{file}"], ""),
        (["-"], '{"from": "standard input"}'),
        (["-7"], ""),
        (["null"], ""),
    ]
    ids = [int(turnstile("enqueue", "mail", *arguments, text=text)) for arguments, text in given]
    stored = dict(conn.execute("SELECT id, payload FROM turnstile.job").fetchall())
    assert [stored[job_id] for job_id in ids] == [
        {}, {"from": "an argument"}, {"from": "a file"}, {"from": "standard input"}, -7, None,
    ]  # fmt: skip


def test_enqueue_changes_no_number(turnstile, conn):
    exact = "123456789012345678901234567890.000000000000000000010"
    turnstile("enqueue", "mail", f'{{"n": {exact}}}', "--metadata", exact)
    stored = conn.execute("SELECT payload ->> 'n', metadata::text FROM turnstile.job").fetchone()
    assert stored == (exact, exact)


def test_enqueue_passes_on_what_enqueue_takes(turnstile, conn):
    parent = enqueue(conn, queue="parents")
    claim_next(conn, "parents")
    first, second = enqueue(conn, queue="first"), enqueue(conn, queue="first")
    options = {
        "queue": "mail", "tenant": "acme", "account": "a1", "session": "s 1", "concurrency-key": "k", "priority": "-3",
        "run-at": "2099-01-31 08:00+00", "max-attempts": "7", "unique-key": "only", "unique-mode": "until_expired",
        "unique-for": "2h", "metadata": '{"by": "hand"}', "parent": str(parent),
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    job_id = json.loads(turnstile("enqueue", "welcome", "{}", *words, "--json"))
    assert list(job_id) == ["id"]
    row = conn.execute(
        "SELECT kind, queue, tenant, account, session, concurrency_key, priority, run_at = '2099-01-31 08:00+00', max_attempts, unique_key, "
        "unique_mode, unique_until > now() + '1 hour', metadata, parent FROM turnstile.job WHERE id = %s",
        [job_id["id"]],
    ).fetchone()
    assert row == (
        "welcome", "mail", "acme", "a1", "s 1", "k", -3, True, 7, "only", "until_expired", True, {"by": "hand"}, parent,
    )  # fmt: skip
    again = json.loads(turnstile("enqueue", "welcome", "{}", *words, "--json"))
    assert again == job_id
    followers = ["--after", first, "--after", second, "--after-any-end", "--after-hold"]
    follower = int(turnstile("enqueue", "next", *followers, "--unique-by", "kind,payload"))
    assert conn.execute("SELECT state, unique_key IS NULL FROM turnstile.job WHERE id = %s", [follower]).fetchone() == ("blocked", False)
    waits = conn.execute("SELECT count(*) FROM turnstile.dependency WHERE job = %s", [follower]).fetchone()
    assert waits == (2,)


def test_enqueue_passes_on_the_states_in_which_a_key_is_held(turnstile, attempt, conn):
    words = ["--unique-key", "k", "--unique-states", "available,completed", "--unique-for", "2h"]
    first = turnstile("enqueue", "mail", *words)
    assert conn.execute("SELECT states::text[] FROM turnstile.unique_key").fetchone() == (["available", "completed"],)
    conn.execute("SELECT turnstile.discard(%s)", [int(first)])
    assert turnstile("enqueue", "mail", *words) != first
    both = attempt("enqueue", "mail", *words, "--unique-mode", "replace")
    assert both.returncode == program.USAGE and "--unique-mode" in both.stderr


def test_enqueue_puts_off_by_a_time_from_now(turnstile, conn):
    turnstile("enqueue", "mail", "--in", "1h")
    row = "SELECT state, run_at > now() + '50 minutes' AND run_at < now() + '70 minutes' FROM turnstile.job"
    assert conn.execute(row).fetchone() == ("scheduled", True)


def test_enqueue_tells_what_the_server_refuses(attempt, conn):
    done = attempt("enqueue", "mail", "--unique-key", "k", "--unique-mode", "for_ever")
    assert done.returncode == program.REFUSED and "22023" in done.stderr and "HINT" in done.stderr
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)


# ---- retry and cancel -----------------------------------------------------------------------------


def test_many_ids_are_tried_whatever_comes_of_one(attempt, conn):
    finished, running, waiting = _ended(conn), enqueue(conn), enqueue(conn)
    assert claim_next(conn).id == running
    done = attempt("cancel", finished, running, 999, waiting)
    assert done.returncode == program.REFUSED
    assert done.stdout.splitlines() == [f"job {running}: runs, and was asked to stop", f"job {waiting}: cancelled"]
    refused = done.stderr.split("turnstile: ")[1:]
    assert [text.split(": ")[:2] for text in refused] == [[f"job {finished}", "55000"], ["job 999", "P0002"]]

    done = attempt("retry", "--json", waiting, running, 999, finished)
    assert (done.returncode, done.stderr) == (program.REFUSED, "")
    first, second, third, fourth = program.objects(done.stdout)
    assert first == {"id": waiting, "state": "available"} and fourth == {"id": finished, "state": "available"}
    assert (second["id"], third["id"]) == (running, 999)
    assert [set(refused["error"]) for refused in (second, third)] == [{"sqlstate", "message", "detail", "hint"}] * 2
    assert [refused["error"]["sqlstate"] for refused in (second, third)] == ["55000", "P0002"]
    assert _states(conn) == {finished: "available", running: "running", waiting: "available"}


def test_filters_choose_jobs(turnstile, conn):
    def add(**arguments):
        return enqueue(conn, queue="mail", **arguments)

    jobs = {
        "kind": add(kind="welcome"), "tenant": add(tenant="acme"), "account": add(tenant="b", account="a1"),
        "session": add(session="s"), "state": add(run_at="2099-01-01"), "concurrency-key": add(concurrency_key="api"),
        "metadata": add(metadata={"order": 7, "by": "x"}), "error": add(kind="failed"),
    }  # fmt: skip
    filters = {
        "kind": "welc*", "tenant": "acme", "account": "a1", "session": "s", "state": "scheduled", "concurrency-key": "api",
        "metadata": '{"order": 7}', "error": "no such",
    }  # fmt: skip
    conn.execute("""UPDATE turnstile.job SET errors = '[{"error": "no such address"}]' WHERE id = %s""", [jobs["error"]])
    other = enqueue(conn, queue="sms")
    for name, job_id in jobs.items():
        assert turnstile("cancel", f"--{name}", filters[name]) == "1 jobs cancelled or asked to stop\n"
        assert _states(conn)[job_id] == "cancelled"
    assert turnstile("cancel", "--queue", "mail", "--json") == '{"jobs":0}\n'
    assert turnstile("retry", "--queue", "mail", "--older-than", "1h") == "0 jobs made available\n"
    assert turnstile("retry", "--queue", "mail", "--kind", "welcome", "--json") == '{"jobs":1}\n'
    assert _states(conn) == {job_id: "available" if name == "kind" else "cancelled" for name, job_id in jobs.items()} | {other: "available"}


def test_children_are_a_filter(turnstile, conn):
    batch = call(conn, "enqueue_batch", kind="b", children=Jsonb([{"kind": "c"}] * 3))[0][0]
    assert turnstile("cancel", "--parent", batch) == "3 jobs cancelled or asked to stop\n"


def test_filters_go_on_until_there_are_none_or_enough(turnstile, conn):
    call(conn, "enqueue_many", jobs=[{"kind": "work"}] * 2500)
    running = [row.id for row in call(conn, "claim", queues=["default"], max_jobs=20)]
    assert turnstile("cancel", "--queue", "default", "--limit", "1200", "--json") == '{"jobs":1200}\n'
    assert turnstile("cancel", "--queue", "default", "--limit", "0", "--json") == '{"jobs":0}\n'
    assert turnstile("cancel", "--queue", "default", "--json") == '{"jobs":1300}\n'
    states = _states(conn)
    assert sorted(job_id for job_id, state in states.items() if state == "running") == sorted(running)
    assert turnstile("cancel", "--queue", "default", "--json") == '{"jobs":0}\n'
    assert turnstile("retry", "--state", "cancelled", "--json") == '{"jobs":2480}\n'
    assert turnstile("retry", "--state", "cancelled", "--json") == '{"jobs":0}\n'


def test_what_fails_again_is_left_alone(turnstile, conn):
    """A call that retries as many jobs as it may is followed by another, which must not find those that have failed meanwhile."""
    with failing(conn, "fails", 1000):
        assert turnstile("retry", "--kind", "fails", "--json") == '{"jobs":1000}\n'


def test_metadata_come_from_a_file(turnstile, attempt, conn, tmp_path):
    given = tmp_path / "metadata"
    given.write_text('{"order": 8}')
    job_id = enqueue(conn, metadata={"order": 8})
    enqueue(conn, metadata={"order": 7})
    assert turnstile("cancel", "--metadata", f"@{given}", "--json") == '{"jobs":1}\n'
    assert _states(conn)[job_id] == "cancelled"
    given.write_text("{")
    assert attempt("cancel", "--metadata", f"@{given}").returncode == program.USAGE


def test_no_filter_is_given_by_an_empty_name(attempt, conn):
    job_id = enqueue(conn)
    done = attempt("cancel", "--queue", "")
    assert done.returncode == program.REFUSED and "22023" in done.stderr
    assert _states(conn) == {job_id: "available"}


# ---- why ------------------------------------------------------------------------------------------


def test_why_gives_each_reason(turnstile, conn):
    job_id = enqueue(conn, queue="mail", tenant="ac\x1b[2Jme", run_at="2099-01-01 00:00+00")
    conn.execute("SELECT turnstile.pause_queue('mail')")
    conn.execute("SELECT turnstile.set_tenant(E'ac\\x1b[2Jme', slots => 0)")
    (told,) = program.objects(turnstile("why", job_id, "--json"))
    assert set(told) == {"id", "reasons", "estimate"}
    assert set(told["estimate"]) == {"ahead", "is_capped", "starts_per_minute", "bottleneck", "starts_at"}
    asked = conn.execute("SELECT reason, gate, name, running, slots, holder, detail FROM turnstile.why_waiting(%s) ORDER BY ord", [job_id])
    names = ["reason", "gate", "name", "running", "slots", "holder", "detail"]
    assert [tuple(reason[name] for name in names) for reason in told["reasons"]] == asked.fetchall()
    assert all(set(reason) == {*names, "opens_at"} for reason in told["reasons"])
    assert {"scheduled", "paused"} <= {reason["reason"] for reason in told["reasons"]}
    assert told["reasons"][0]["opens_at"].startswith("2099-01-01") and told["reasons"][0]["gate"] is None
    text = turnstile("why", job_id)
    assert text.startswith(f"job {job_id}:\n  scheduled: ")
    assert "\n  paused queue mail: " in text and "ac [2Jme" in text and "\x1b" not in text


def test_why_has_nothing_to_say_of_the_next_job(turnstile, conn):
    job_id = enqueue(conn)
    claim_next(conn, "default")
    following = enqueue(conn)
    assert claim_next(conn, "nothing") is None
    text = turnstile("why", following)
    assert text.startswith(f"job {following}: the next claim from its queue takes it\n"), text
    assert job_id != following


def test_why_of_what_does_not_wait(attempt, conn):
    finished, running, waiting = _ended(conn), enqueue(conn), enqueue(conn, queue="other")
    claim_next(conn)
    done = attempt("why", "--json", finished, waiting, 999, running)
    assert done.returncode == program.REFUSED
    told = program.objects(done.stdout)
    assert [each["id"] for each in told] == [finished, waiting, 999, running]
    assert [each.get("error", {}).get("sqlstate") for each in told] == ["55000", None, "P0002", "55000"]
    assert told[1]["reasons"]


# ---- check ----------------------------------------------------------------------------------------


def test_check_tells_differences_by_its_exit_code(attempt, conn):
    assert (attempt("check").returncode, attempt("check").stdout) == (0, "")
    conn.execute("ALTER TABLE turnstile.job DISABLE TRIGGER publish_change")
    conn.execute("INSERT INTO turnstile.job (kind) VALUES ('unseen')")
    conn.execute("ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_change")
    found = conn.execute("SELECT problem, detail FROM turnstile.check()").fetchall()
    assert found
    told = attempt("check", "--json")
    assert told.returncode == program.DIFFERENT
    assert [(each["problem"], each["detail"]) for each in program.objects(told.stdout)] == found
    assert attempt("check").stdout.splitlines() == [": ".join(each) for each in found]
    conn.execute("SELECT turnstile.rebuild()")
    assert attempt("check", "--json").returncode == 0
