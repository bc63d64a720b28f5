"""`turnstile serve` as viewers have it, and the roles that look at it."""

import base64
import contextlib
import http.client
import json
import re
import secrets
import ssl
from urllib.parse import urlencode

from psycopg import sql

from support import program
from support.calls import call
from support.database import Database, server
from support.serve import Answer
from support.sleepers import PATIENCE, until
from support.work import PROGRAM, Started

LISTENS = re.compile(r"listens for viewers(?: and jobs)? on (https?)://\S*?:(\d+)")
# What a browser says of a form that a page of this dashboard has sent.
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
FORM = "application/x-www-form-urlencoded"
ROLE = "X-Viewer"
# By kind, what allows it to do something; `{}` is the role.
KINDS = {
    "monitor": "SELECT turnstile.allow_monitor('{}')",
    "operator": "SELECT turnstile.allow_operator('{}')",
    "tenant": "SELECT turnstile.allow_tenant('{}', '{{acme}}')",
    "worker": "SELECT turnstile.allow_worker('{}')",
    "nobody": "SELECT",
    "superuser": "ALTER ROLE {} SUPERUSER",
}
PASSWORD = "a pässword: with a colon"


def routes() -> list[dict]:
    """All that the dashboard answers, as the program has it."""
    return json.loads(program.attempt("pages", "--routes").stdout)


def pages() -> dict[str, str]:
    """What each page needs."""
    return {route["path"]: route["needs"] for route in routes() if route["method"] == "GET"}


def levers() -> dict[str, str]:
    """The function that each lever calls."""
    return {route["path"]: route["function"] for route in routes() if route["method"] == "POST"}


def main(text: str) -> str:
    """A page without what all pages have."""
    return text[text.index("<main") : text.index("</main>")]


def basic(user: str, password: str = PASSWORD) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Dashboard(Started):
    """The program, and a client of it."""

    def __init__(self, database: str, *arguments, trusted: str | None = None, listen: str = "127.0.0.1:0", **environment: str):
        """`trusted`: the certificate of the authority, where it has TLS."""
        words = [PROGRAM, "serve", "--database", database, "--listen", listen, *arguments]
        super().__init__(words, **{"TURNSTILE_LOG": "info"} | environment)
        until(lambda: LISTENS.search(self.stderr()) or self.process.poll() is not None, "it listens", self.stderr)
        match = LISTENS.search(self.stderr())
        assert match, self.stderr()
        self.scheme, self.port = match[1], int(match[2])
        self.host = "localhost" if trusted else "127.0.0.1"
        self.context = ssl.create_default_context(cafile=trusted) if trusted else None

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def connect(self) -> http.client.HTTPConnection:
        if self.context:
            return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> Answer:
        """A header that is None is left out."""
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        connection = self.connect()
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in (headers or {}))
            for name, value in given.items():
                for each in value if isinstance(value, list) else [value]:
                    connection.putheader(name, each)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())

    def get(self, path: str, parameters: dict | None = None, headers: dict | None = None) -> Answer:
        return self.ask("GET", with_parameters(path, parameters), headers=headers)

    def post(self, path: str, fields: dict | None = None, headers: dict | None = None) -> Answer:
        """As the browser sends a form of one of its pages."""
        given = {"Content-Type": FORM} | SAME_ORIGIN | (headers or {})
        return self.ask("POST", path, urlencode(fields or {}).encode(), given)

    def first_event(self, path: str, headers: dict | None = None) -> Answer:
        """What a live page sends first, as soon as it has."""
        connection = self.connect()
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Accept": "text/event-stream"} | (headers or {}))
            response = connection.getresponse()
            lines = []
            while response.status == 200 and (line := response.readline()):
                if line.startswith((b"data:", b":")):
                    lines.append(line.decode())
                    break
            return Answer(response.status, response.headers, "".join(lines))

    def close(self) -> None:
        """It ends when it is told to, and has not panicked."""
        if self.process.poll() is None:
            self.terminate()
            assert self.ended()[0] == 0, self.stderr()
        assert "panicked" not in self.stderr(), self.stderr()


def with_parameters(path: str, parameters: dict | None) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


def refused(database: str, *arguments, **environment: str):
    """What the program says that does not even start."""
    return program.attempt("-d", database, "serve", *arguments, **environment)


class Viewers:
    """A role of each kind, which logs in by a password, and one for the program that is a member of all."""

    def __init__(self, database: Database):
        self.database = database
        self.prefix = f"viewer_{secrets.token_hex(4)}"
        self.gate = f"{self.prefix}_gate"
        with database.connect() as conn:
            for kind, allow in KINDS.items():
                self._make(conn, self.name(kind), "LOGIN")
                conn.execute(allow.format(self.name(kind)))
            self._make(conn, self.gate, "LOGIN NOINHERIT")
            for kind in KINDS:
                conn.execute(f"GRANT {self.name(kind)} TO {self.gate}")

    @staticmethod
    def _make(conn, name: str, options: str) -> None:
        statement = sql.SQL("CREATE ROLE {} " + options + " PASSWORD {}")
        conn.execute(statement.format(sql.Identifier(name), sql.Literal(PASSWORD)))

    def name(self, kind: str) -> str:
        return f"{self.prefix}_{kind}"

    def place(self, user: str) -> str:
        """How the program logs in as a role. By TCP, where the server asks for the password."""
        return f"host=127.0.0.1 dbname={self.database.name} user={user} password='{PASSWORD}'"

    @property
    def nowhere(self) -> str:
        """The same for a program that has no login itself."""
        return f"host=127.0.0.1 dbname={self.database.name} user=nobody_at_all"

    def drop(self) -> None:
        with self.database.connect() as conn:
            for name in map(sql.Identifier, [*map(self.name, KINDS), self.gate]):
                conn.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name))


@contextlib.contextmanager
def viewers_of(database: Database):
    made = Viewers(database)
    try:
        yield made
    finally:
        made.drop()


def allow_tenant(conn, role: str, *tenants: str) -> None:
    call(conn, "allow_tenant", role=role, tenants=list(tenants))


def exists(name: str) -> bool:
    with server() as admin:
        return admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is not None
