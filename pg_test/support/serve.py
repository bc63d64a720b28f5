"""`turnstile serve` as a process, and a client of it."""

import contextlib
import hashlib
import http.client
import json
import re
from typing import NamedTuple

from support.sleepers import PATIENCE, until
from support.work import PROGRAM, Started

LISTENS = r"listens for (?:viewers and )?{} on http://127\.0\.0\.1:(\d+)"
OF_THE_PROGRAM = "application_name = 'turnstile serve' AND datname = current_database()"
LATEST = f"SELECT max(query_start), max(query_start) > now() - interval '0.5 s' FROM pg_stat_activity WHERE {OF_THE_PROGRAM}"
# Any path of the program, as its document names it.
TEMPLATES = [
    (re.compile(r"^/v1/openapi\.json$|^/healthz$|^/readyz$|^/v1/jobs$"), None),
    (re.compile(r"^/v1/jobs/[^/]+$"), "/v1/jobs/{name}"),
]


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def sqlstate(self):
        return self.json.get("sqlstate")


def hashed(token: str) -> str:
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def ask(port: int, method: str, path: str, body=None, token: str | None = None, headers: dict | None = None) -> Answer:
    """`body`: bytes as they are, an iterator of bytes in chunks, or what becomes JSON."""
    given = {"Content-Type": "application/json"} if body is not None else {}
    given |= {"Authorization": f"Bearer {token}"} if token else {}
    given |= headers or {}
    if body is not None and not isinstance(body, bytes) and not hasattr(body, "__next__"):
        body = json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, body, {name: value for name, value in given.items() if value is not None})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read().decode())


class Serve(Started):
    """The program, and the tokens that it knows: that of a role is `token-of-ROLE`."""

    def __init__(self, database: str, folder, roles: list[str], *arguments, **environment: str):
        self.tokens = folder / "tokens"
        self.knows(roles)
        words = [PROGRAM, "serve", "--database", database, "--tokens", self.tokens, "--listen", "127.0.0.1:0", *arguments]
        super().__init__(words, **{"TURNSTILE_LOG": "info"} | environment)
        self.answers: set[tuple[str, str, int]] = set()
        self.port = self.port_for("jobs")

    def knows(self, roles: list[str]) -> None:
        lines = ["# of a test", *(f"{role} {hashed(token_of(role))}" for role in roles)]
        self.tokens.write_text("\n".join(lines) + "\n")
        self.tokens.chmod(0o640)

    def port_for(self, what: str) -> int:
        found = re.compile(LISTENS.format(what))
        until(lambda: found.search(self.stderr()) or self.process.poll() is not None, "it listens", self.stderr)
        match = found.search(self.stderr())
        assert match, self.stderr()
        return int(match[1])

    def ask(self, method: str, path: str, body=None, role: str | None = None, **more) -> Answer:
        answer = ask(self.port, method, path, body, token=role and token_of(role), **more)
        self.answers.add((method, path.split("?")[0], answer.status))
        return answer

    def post(self, path: str, body=None, **more) -> Answer:
        return self.ask("POST", path, body, **more)

    def get(self, path: str, **more) -> Answer:
        return self.ask("GET", path, **more)

    def delete(self, path: str, **more) -> Answer:
        return self.ask("DELETE", path, **more)

    def document(self) -> dict:
        return ask(self.port, "GET", "/v1/openapi.json").json

    def is_documented(self) -> None:
        """All that it has answered to what its document knows is there."""
        paths = self.document()["paths"]
        for method, path, status in self.answers:
            template = _template(path)
            if template and method.lower() in paths[template]:
                assert str(status) in paths[template][method.lower()]["responses"], (method, path, status)


def _template(path: str) -> str | None:
    for pattern, template in TEMPLATES:
        if pattern.match(path):
            return template or path
    return None


def token_of(role: str) -> str:
    return f"token-of-{role}"


def await_asking(conn) -> None:
    """The program runs statement after statement, as it does for those that wait."""
    seen = set()

    def has_seen_some() -> bool:
        seen.add(conn.execute(LATEST).fetchone()[0])
        return len(seen) > 4

    until(has_seen_some, "it asks")
