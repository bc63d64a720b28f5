"""The endpoints of examples/endpoints, as processes."""

import os
import socket
import subprocess
import urllib.request

from support.examples import BUILT, EXAMPLES
from support.pgbouncer import free_port
from support.sleepers import until

FOLDER = EXAMPLES / "endpoints"
FILES = {
    "node": FOLDER / "node" / "endpoint.mjs",
    "python": FOLDER / "python" / "endpoint.py",
    "ruby": FOLDER / "ruby" / "endpoint.rb",
    "php": FOLDER / "php" / "endpoint.php",
    "go": FOLDER / "go" / "endpoint.go",
}
HOST = "127.0.0.1"


def command(language: str, port: int) -> list:
    return {
        "node": ["node", FILES["node"]],
        "python": ["python3", FILES["python"]],
        "ruby": ["ruby", FILES["ruby"]],
        "php": ["php", "-S", f"{HOST}:{port}", FILES["php"]],
        "go": [BUILT / "endpoint"],
    }[language]


class Endpoint:
    """It keeps its port when it is started again."""

    def __init__(self, language: str):
        self.language, self.port = language, free_port()
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/mail"

    def start(self) -> None:
        words = [str(word) for word in command(self.language, self.port)]
        environment = os.environ | {"PORT": str(self.port)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(words, env=environment, **quiet)
        until(self._listens, f"the endpoint in {self.language} listens")

    def _listens(self) -> bool:
        assert self.process.poll() is None, f"the endpoint in {self.language} has ended"
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, payload: str, webhook_id: str) -> tuple[str, str]:
        """As anybody can: the type and the text of what it answers."""
        headers = {"webhook-id": webhook_id, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, payload.encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.headers["Content-Type"], answer.read().decode()
