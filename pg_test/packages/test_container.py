"""The image of packaging/Dockerfile: built of the package, started, found healthy, stopped and started again."""

import signal
import socket
import subprocess
import time

import psycopg
import pytest

from dockerfile import Image, instructions
from support.system import AS_ROOT, ROOT

PASSWORD = "of the superuser"


class Container:
    """What `docker run` would do with an image: its first process, and its health."""

    def __init__(self, image: Image, port: int):
        self.image = image
        self.port = port
        self.process = None

    def _given(self, **environment) -> dict:
        return self.image.environment | {"PGPORT": str(self.port)} | environment

    def attempt(self, *command, **environment) -> subprocess.CompletedProcess:
        return self.image.system.attempt(*command, user=self.image.user, environment=self._given(**environment))

    def start(self, *options, **environment) -> None:
        command = [*self.image.entrypoint, *self.image.command, *options]
        log = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = self.image.system.start(*command, user=self.image.user, environment=self._given(**environment), **log)

    def is_healthy(self) -> bool:
        return self.attempt(*self.image.healthcheck).returncode == 0

    def await_health(self) -> None:
        give_up = time.monotonic() + 60
        while not self.is_healthy():
            assert self.process.poll() is None, "the server has ended"
            assert time.monotonic() < give_up, "the server does not become healthy"
            time.sleep(0.2)

    def stop(self) -> int:
        """As `docker stop`: the signal of the image, to the first process of the container."""
        wanted = self.image.system.inside(self.image.environment["PGDATA"]) / "postmaster.pid"
        first = subprocess.run([*AS_ROOT, "head", "-n", "1", wanted], check=True, capture_output=True, text=True).stdout.strip()
        number = getattr(signal, self.image.stop_signal)
        subprocess.run([*AS_ROOT, "kill", f"-{number.value}", first], check=True)
        return self.process.wait(timeout=60)

    def connect(self, **options) -> psycopg.Connection:
        where = {"host": "127.0.0.1", "port": self.port, "user": "postgres", "dbname": "postgres", "password": PASSWORD}
        return psycopg.connect(**where | options, autocommit=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def image(packages, tmp_path):
    """The context has the files of the project, and the package where `make deb` leaves it."""
    context = tmp_path / "context"
    (context / "target").mkdir(parents=True)
    (context / "packaging").symlink_to(ROOT / "packaging")
    (context / "target/deb").mkdir()
    for package in packages.both("1"):
        (context / "target/deb" / package.name).symlink_to(package)
    given = {"SUITE": packages.suite, "PG": packages.major}
    image = Image(ROOT / "packaging/Dockerfile", context, given, packages.folder / "image")
    try:
        yield image.build()
    finally:
        if image.system:
            image.system.remove()


@pytest.fixture
def container(image):
    return Container(image, _free_port())


def test_it_takes_jobs_is_healthy_and_keeps_them(container, image):
    assert image.user == "postgres"
    assert image.environment["PGDATA"].startswith(image.volumes[0] + "/")
    assert not container.is_healthy()
    refused = container.attempt(*image.entrypoint, *image.command)
    assert refused.returncode != 0 and "POSTGRES_PASSWORD" in refused.stderr
    assert container.attempt("mkdir", image.environment["PGDATA"]).returncode == 0
    container.start(POSTGRES_PASSWORD=PASSWORD)
    container.await_health()
    with container.connect() as conn:
        conn.execute("CREATE EXTENSION turnstile")
        first, second = (conn.execute("SELECT turnstile.enqueue('work')").fetchone()[0] for _ in range(2))
        assert conn.execute("SELECT turnstile.complete(id, attempt) FROM turnstile.claim_next()").fetchone() == (True,)
    checked = container.attempt("turnstile", "-d", "postgres", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    with pytest.raises(psycopg.OperationalError):
        container.connect(password="another")
    assert container.stop() == 0
    assert not container.is_healthy()

    container.start()
    container.await_health()
    with container.connect() as conn:
        assert conn.execute("SELECT id FROM turnstile.claim_next()").fetchone() == (second,)
        assert conn.execute("SELECT id FROM turnstile.jobs WHERE state = 'completed'").fetchone() == (first,)
    assert container.stop() == 0

    # Of the server's own arguments, the last counts.
    container.start("-c", "shared_preload_libraries=")
    give_up = time.monotonic() + 60
    while container.attempt("pg_isready").returncode != 0:
        assert time.monotonic() < give_up
        time.sleep(0.2)
    assert not container.is_healthy(), "without the library it is not healthy"
    assert container.stop() == 0


def test_instructions_are_read_as_docker_reads_them():
    text = "# one\nFROM a \\\n  b\n\nRUN one \\\n# between\n    && two\n"
    assert instructions(text) == [("FROM", "a b"), ("RUN", "one && two")]
