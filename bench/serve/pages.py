"""The pages of the dashboard as viewers ask for them: once with their times, or live for as long as they are open."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from lib.database import Database
from lib.project import ROOT

PROGRAM = os.environ.get("TURNSTILE_PROGRAM") or str(ROOT / "target" / "release" / "turnstile")
HEADER = "X-Viewer"
ROLES = ("monitor", "operator", "tenant", "support")
# Pages that viewers keep open, one after the other.
LIVE = ("/", "/tenants", "/queues", "/jobs")
# What was read for one request is shown to others for so long.
FRESH = 1.1
PATIENCE = 60


@dataclass(frozen=True)
class Page:
    path: str
    role: str


class Program:
    """`turnstile serve` of this tree, which shows each role what it may see."""

    def __init__(self, database: Database) -> None:
        if "TURNSTILE_PROGRAM" not in os.environ:
            subprocess.run(["cargo", "build", "--quiet", "--release", "--package", "turnstile-cli"], cwd=ROOT, check=True)
        place = f"dbname={database.connection.info.dbname}"
        command = [PROGRAM, "serve", "--database", place, "--listen", "127.0.0.1:0", "--role-header", HEADER, "--allow-writes"]
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=os.environ | {"TURNSTILE_LOG": "info"}, stderr=self.said)
        self.port = self._port()

    def _port(self) -> int:
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up and self.process.poll() is None:
            text = os.pread(self.said.fileno(), 100_000, 0).decode(errors="replace")
            if match := re.search(r"listens for viewers on http://127\.0\.0\.1:(\d+)", text):
                return int(match[1])
            time.sleep(0.01)
        raise RuntimeError("turnstile serve does not listen")

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)

    def ask(self, page: Page, live: bool = False) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        accept = "text/event-stream" if live else "text/html"
        connection.request("GET", page.path, headers={HEADER: f"turnstile_bench_{page.role}", "Accept": accept})
        return connection, connection.getresponse()

    def time(self, page: Page) -> float:
        """Milliseconds that the server took."""
        connection, response = self.ask(page)
        with contextlib.closing(connection):
            text = response.read().decode()
            if response.status != 200:
                raise RuntimeError(f"{page.path} as {page.role}: {response.status} {re.sub('<[^>]+>', ' ', text)[-300:]}")
            return float(response.headers["Server-Timing"].partition("dur=")[2])

    def is_open(self, page: Page) -> bool:
        connection, response = self.ask(page)
        with contextlib.closing(connection):
            response.read()
            return response.status == 200


def pages(database: Database, program: Program) -> list[Page]:
    """All pages of the table of routes that a role may see, with something to show."""
    routes = json.loads(subprocess.run([PROGRAM, "pages", "--routes"], capture_output=True, check=True, text=True).stdout)
    query = "SELECT max(id) FROM turnstile.job WHERE state = 'available' AND tenant = 'tenant-0002'"
    job = database.connection.execute(query).fetchone()[0]
    of = {
        "/queue": [{"name": "mail"}], "/tenant": [{"name": "tenant-0001"}], "/keys": [{}, {"name": "key-001"}], "/job": [{"id": job}],
        "/jobs": [{}, {"tenant": "tenant-0002"}, {"kind": "notify"}, {"state": "discarded"}, {"state": "running"}, {"session": "none"}],
        "/jobs/change": [{"deed": "retry", "state": "discarded", "kind": "notify"}], "/batch": [{"id": 1}],
    }  # fmt: skip
    found = []
    for route in routes:
        if route["method"] == "GET":
            for given in of.get(route["path"], [{}]):
                path = f"{route['path']}?{urlencode(given)}" if given else route["path"]
                found += [Page(path, role) for role in ROLES if program.is_open(Page(path, role))]
    return found


def probed(
    program: Program, shown: list[Page], found: dict[Page, list[float]], times: int | None = None, until: float | None = None
) -> dict[Page, list[float]]:
    """Asks for one page after the other, so often or for so long, and for none again whose figures may be shown once more."""
    rounds = 0
    while times is None or rounds < times:
        begun = time.monotonic()
        for page in shown:
            if until is not None and time.monotonic() > until:
                return found
            found[page].append(program.time(page))
        time.sleep(max(0.0, begun + FRESH - time.monotonic()))
        rounds += 1
    return found


@contextlib.contextmanager
def watching(program: Program, viewers: int) -> Iterator[None]:
    """So many pages are open: most viewers are operators, and every fifth sees payloads, too."""
    over = threading.Event()
    open_pages = [Page(LIVE[number % len(LIVE)], "operator" if number % 5 else "support") for number in range(viewers)]
    threads = [threading.Thread(target=_watch, args=[program, page, over], daemon=True) for page in open_pages]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)


def _watch(program: Program, page: Page, over: threading.Event) -> None:
    while not over.is_set():
        connection, response = program.ask(page, live=True)
        with contextlib.closing(connection):
            while not over.is_set() and response.readline():
                pass
        over.wait(1)
