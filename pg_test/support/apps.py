"""The applications of examples/apps, as processes, and requests to their pages."""

import http.client
import os
import re
import signal
import socket
import subprocess
import urllib.parse
from pathlib import Path

from support.examples import BUILT, EXAMPLES, environment
from support.pgbouncer import free_port
from support.sleepers import PATIENCE, until

APPS = EXAMPLES / "apps"
BIN = BUILT / "apps" / "bin"
HOST = "127.0.0.1"


def url_of(db, user: str | None = None) -> str:
    return f"postgresql://{user or os.environ['PGUSER']}@{HOST}:{os.environ['PGPORT']}/{db.name}"


def psql(db, *files: Path) -> str:
    """As the README of an application has it: each file is run by itself, and must not fail."""
    words = ["psql", url_of(db), "-XAtq", "-v", "ON_ERROR_STOP=1", *(word for file in files for word in ("-f", str(file)))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Process:
    """Started in the folder of its application."""

    def __init__(self, app: str, words: list, url: str, **more: str):
        self.words = [str(word) for word in words]
        self.process = subprocess.Popen(
            self.words, cwd=APPS / app, env=environment(url) | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kill(self) -> str:
        """What it has printed, if nobody has read that before."""
        self.process.kill()
        if self.process.stdout.closed:
            return ""
        return self.process.communicate()[0]

    def leaves(self) -> None:
        """It is told to stop, and goes in peace."""
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, f"{self.words} ended with {self.process.returncode}: {output}"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status, self.location = response.status, response.headers["Location"]
        self.text = response.read().decode()


class Web:
    """An application of Flask, and what a browser asks of it."""

    def __init__(self, start, app: str, url: str, **more: str):
        self.port = free_port()
        self.process = start(app, [BIN / "flask", "--app", "web", "run", "--port", self.port], url, **more)
        until(self._listens, f"{app} listens")

    def _listens(self) -> bool:
        assert self.process.process.poll() is None, self.process.kill()
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def get(self, path: str) -> Answer:
        return self._ask("GET", path)

    def post(self, path: str, **form: object) -> Answer:
        return self._ask("POST", path, urllib.parse.urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})

    def _ask(self, method: str, path: str, body: str | None = None, headers: dict | None = None) -> Answer:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()


def id_in(text: str) -> int:
    """The last number, as in a path."""
    return int(re.findall(r"\d+", text)[-1])
