"""The application `dispatcher`, against endpoints of the tests' own."""

import json
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.apps import APPS, HOST, psql, url_of
from support.calls import call, enqueue
from support.examples import environment
from support.sleepers import PATIENCE, until

STATES = "SELECT state, count(*) FROM turnstile.jobs GROUP BY state"


class Endpoint(BaseHTTPRequestHandler):
    """Answers as the path says, and keeps what it was asked."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append((self.path, body, self.headers["Idempotency-Key"]))
            times = sum(path == self.path for path, _, _ in server.asked)
            server.busy[self.path] += 1
            server.most[self.path] = max(server.most[self.path], server.busy[self.path])
        if self.path.startswith("/held"):
            server.let_go.wait(PATIENCE)
        with server.lock:
            server.busy[self.path] -= 1
        self._answer(times)

    def _answer(self, times: int) -> None:
        status = {"/gone": 404, "/broken": 500 if times == 1 else 200, "/busy": 429 if times == 1 else 200}.get(self.path, 200)
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "0.05")
        self.end_headers()
        self.wfile.write(b"seen")

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    with ThreadingHTTPServer((HOST, 0), Endpoint) as server:
        server.lock, server.let_go = threading.Lock(), threading.Event()
        server.asked, server.busy, server.most = [], Counter(), Counter()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.let_go.set()
        server.shutdown()


@pytest.fixture
def begin(db, conn, start):
    psql(db, APPS / "dispatcher" / "setup.sql")
    call(conn, "set_queue", name="calls", retry_base="10 milliseconds")
    return lambda: start("dispatcher", ["node", "dispatcher.mjs"], url_of(db))


def add(conn, endpoint, path: str, account: str = "sales", key: str | None = None) -> int:
    url = f"http://{HOST}:{endpoint.server_port}{path}"
    return enqueue(conn, "call", payload={"url": url, "body": {}}, queue="calls", tenant="acme", account=account, concurrency_key=key)


def await_states(conn, **states: int) -> None:
    until(lambda: dict(conn.execute(STATES).fetchall()) == states, f"{states}", lambda: conn.execute(STATES).fetchall())


@contextmanager
def held(endpoint):
    """Endpoints below /held answer once the block has ended."""
    try:
        yield
    finally:
        endpoint.let_go.set()


def test_a_call_is_added_and_its_answer_awaited(db, begin, endpoint):
    dispatcher = begin()
    words = ["node", "request.mjs", "acme", "sales", f"http://{HOST}:{endpoint.server_port}/hello", '{"to": "ada"}']
    where = {"cwd": APPS / "dispatcher", "env": environment(url_of(db))}
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **where)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"status": 200, "text": "seen"}
    assert endpoint.asked == [("/hello", {"to": "ada"}, "1")]
    dispatcher.leaves()


def test_answers_say_what_becomes_of_a_call(conn, begin, endpoint):
    ids = {path: add(conn, endpoint, path) for path in ("/gone", "/broken", "/busy")}
    begin()
    await_states(conn, completed=2, discarded=1)
    jobs = dict((id, (attempt, errors)) for id, attempt, errors in conn.execute("SELECT id, attempt, errors FROM turnstile.jobs").fetchall())
    assert jobs[ids["/gone"]][1][-1]["error"] == "404: seen"
    assert jobs[ids["/broken"]][1][-1]["error"].startswith("Error: 500: seen")
    assert jobs[ids["/busy"]] == (2, None)


def test_an_account_has_two_calls_at_a_time(conn, begin, endpoint):
    for account in "sales", "support":
        for _ in range(5):
            add(conn, endpoint, f"/held/{account}", account)
    with held(endpoint):
        begin()
        until(lambda: endpoint.busy == {"/held/sales": 2, "/held/support": 2}, "two calls of each")
    await_states(conn, completed=10)
    assert endpoint.most == {"/held/sales": 2, "/held/support": 2}


def test_a_host_gets_four_at_a_time_and_no_more_than_its_rate(conn, begin, endpoint):
    call(conn, "set_account", tenant="*", name="*", slots=100)
    for number in range(30):
        add(conn, endpoint, "/held/host", key="host")
    with held(endpoint):
        begin()
        until(lambda: endpoint.busy["/held/host"] == 4, "four calls")
    await_states(conn, completed=30)
    assert endpoint.most["/held/host"] == 4
    starts = [at for (at,) in conn.execute("SELECT extract(epoch FROM claimed_at)::float FROM turnstile.jobs ORDER BY 1").fetchall()]
    for first, begun in enumerate(starts):
        # burst and rate as in setup.sql; what the clock of the server cuts off is one more.
        assert all(last - first <= 5 + 20 * (starts[last] - begun) + 1 for last in range(first, len(starts)))


def test_a_call_that_is_cancelled_ends_at_once(conn, begin, endpoint):
    job = add(conn, endpoint, "/held/long")
    with held(endpoint):
        begin()
        until(lambda: endpoint.busy["/held/long"] == 1, "the call")
        call(conn, "cancel", job_id=job)
        await_states(conn, cancelled=1)


def test_an_endpoint_that_is_away_is_tried_again(conn, begin, endpoint):
    job = enqueue(conn, "call", payload={"url": f"http://{HOST}:1/", "body": {}}, queue="calls")
    begin()
    attempts = "SELECT attempt FROM turnstile.job WHERE id = %s"
    until(lambda: conn.execute(attempts, [job]).fetchone()[0] > 2, "the third attempt")
    conn.execute("UPDATE turnstile.job SET payload = %s WHERE id = %s", [json.dumps({"url": f"http://{HOST}:{endpoint.server_port}/", "body": 1}), job])
    await_states(conn, completed=1)
