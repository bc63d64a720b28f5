"""The exporter and Prometheus of the distribution, set up as docs/operations.md says."""

import contextlib
import json
import os
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from support.pgbouncer import free_port
from support.programs import GIVE_UP, attempt, fetch, program, running

FOLDER = Path(__file__).resolve().parents[2] / "packaging" / "monitoring"
QUERIES = FOLDER / "postgres_exporter.yaml"
ALERTS = FOLDER / "alerts.yaml"
DASHBOARD = FOLDER / "grafana_dashboard.json"
CHECK = FOLDER / "check_metrics.sql"

CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: turnstile
    static_configs: [{{targets: ["127.0.0.1:{exporter}"]}}]
  - job_name: node
    metrics_path: /turnstile.prom
    static_configs: [{{targets: ["127.0.0.1:{checked}"]}}]
"""


@contextlib.contextmanager
def exporter(database: str, role: str, folder: Path) -> Iterator[int]:
    """The port at which the figures of a database can be scraped."""
    port = free_port()
    command = [
        program("prometheus-postgres-exporter"), f"--extend.query-path={QUERIES}", f"--web.listen-address=127.0.0.1:{port}",
        "--disable-default-metrics", "--disable-settings-metrics", "--no-collector.database", "--no-collector.bgwriter",
    ]  # fmt: skip
    source = f"postgresql://{role}@127.0.0.1:{os.environ['PGPORT']}/{database}?sslmode=disable"
    with running(command, f"http://127.0.0.1:{port}/", folder / "exporter.log", {"DATA_SOURCE_NAME": source}):
        yield port


def checked(database: str, role: str = "postgres") -> str:
    """What cron would write into a file."""
    done = attempt("psql", "-XAtq", "-f", CHECK, "-d", database, PGOPTIONS=f"-c role={role}")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@contextlib.contextmanager
def textfile(database: str, folder: Path) -> Iterator[int]:
    """The port at which what check() finds can be scraped, as node_exporter gives it."""
    port = free_port()
    (folder / "turnstile.prom").write_text(checked(database))
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with running(command, f"http://127.0.0.1:{port}/", folder / "textfile.log", dict(os.environ)):
        yield port


class Prometheus:
    def __init__(self, url: str):
        self.url = url

    def _ask(self, path: str, **arguments) -> dict:
        answer = json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[dict]:
        return self._ask("query", query=expression)["result"]

    def await_data(self, expression: str) -> list[dict]:
        """What an expression gives, once it gives something that is a number."""
        give_up = time.monotonic() + GIVE_UP
        while True:
            found = [each for each in self.query(expression) if each["value"][1] != "NaN"]
            if found:
                return found
            assert time.monotonic() < give_up, f"no data for {expression}"
            time.sleep(0.2)

    def rules(self) -> list[dict]:
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]


@contextlib.contextmanager
def prometheus(ports: dict[str, int], folder: Path) -> Iterator[Prometheus]:
    """One that scrapes the exporter and the file each second, with the alert rules."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    configuration = folder / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(rules=ALERTS, **ports))
    command = [
        program("prometheus"), f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--web.console.templates=", "--web.console.libraries=",
    ]  # fmt: skip
    with running(command, f"{url}/-/ready", folder / "prometheus.log", dict(os.environ)):
        yield Prometheus(url)
