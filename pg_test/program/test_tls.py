"""TLS as libpq has it: each sslmode against a server whose certificate the test has made."""

import time

import pytest

from faults.cluster import own_cluster
from support import program
from support.certificates import made_for
from support.database import server
from support.sleepers import until

# To the program by TCP only with TLS; by the socket as it comes.
RULES = """\
local all all trust
hostssl all guarded all scram-sha-256
hostssl all certified all cert
hostssl all all all trust
"""


@pytest.fixture(scope="module")
def certificates():
    with made_for(RULES) as made:
        yield made


@pytest.fixture(scope="module")
def secured(certificates):
    """A server that takes nothing by TCP but TLS."""
    settings = {
        "ssl": "on", "ssl_cert_file": certificates.file("server.crt"), "ssl_key_file": certificates.file("server.key"),
        "ssl_ca_file": certificates.file("authority.crt"), "hba_file": certificates.file("rules"),
    }  # fmt: skip
    with own_cluster("program_tls", **settings) as cluster:
        with server() as admin:
            admin.execute("CREATE EXTENSION turnstile")
            admin.execute("CREATE ROLE guarded SUPERUSER LOGIN PASSWORD 'of the guarded'; CREATE ROLE certified SUPERUSER LOGIN")
        yield cluster


@pytest.fixture
def attempt(secured, certificates):
    """With parameters of a connection by TCP; sslrootcert names one of the certificates."""

    def called(host: str = "localhost", **given):
        for name in ("sslrootcert", "sslcert", "sslkey"):
            if given.get(name, "system") != "system":
                given[name] = certificates.file(given[name])
        parameters = {"host": host, "user": "postgres", "dbname": "postgres", "application_name": "by tls"} | given
        text = " ".join(f"{name}='{value}'" for name, value in parameters.items())
        # No certificates of who runs the test.
        return program.attempt("-d", text, "check", HOME=str(certificates.folder))

    return called


ACCEPTED = {
    "by default": {},
    "prefer": {"sslmode": "prefer"},
    "require": {"sslmode": "require"},
    "require, TLS 1.3": {"sslmode": "require", "ssl_min_protocol_version": "TLSv1.3"},
    "require with the root": {"sslmode": "require", "sslrootcert": "authority.crt"},
    "verify-ca": {"sslmode": "verify-ca", "sslrootcert": "authority.crt"},
    "verify-ca by another name": {"sslmode": "verify-ca", "sslrootcert": "authority.crt", "host": "127.0.0.1"},
    "verify-full": {"sslmode": "verify-full", "sslrootcert": "authority.crt"},
    "verify-full by an address": {"sslmode": "verify-full", "sslrootcert": "authority.crt", "hostaddr": "127.0.0.1"},
    "a password": {"sslmode": "require", "user": "guarded", "password": "of the guarded"},
    "a bound channel": {"sslmode": "require", "user": "guarded", "password": "of the guarded", "channel_binding": "require"},
    "a certificate": {"sslmode": "verify-full", "sslrootcert": "authority.crt", "user": "certified", "sslcert": "certified.crt",
                      "sslkey": "certified.key"},
}  # fmt: skip
REFUSED = {
    "disable": {"sslmode": "disable"},
    "require with another root": {"sslmode": "require", "sslrootcert": "other.crt"},
    "verify-ca with another root": {"sslmode": "verify-ca", "sslrootcert": "other.crt"},
    "verify-full with another root": {"sslmode": "verify-full", "sslrootcert": "other.crt"},
    "verify-full by another name": {"sslmode": "verify-full", "sslrootcert": "authority.crt", "host": "127.0.0.1"},
    "verify-full by the system's roots": {"sslmode": "verify-full", "sslrootcert": "system"},
    "another password": {"sslmode": "require", "user": "guarded", "password": "another"},
    "a bound channel without a password": {"sslmode": "require", "channel_binding": "require"},
    "no certificate": {"sslmode": "require", "user": "certified"},
    "a certificate of another": {"sslmode": "require", "user": "certified", "sslcert": "other.crt", "sslkey": "other.key"},
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_it_is_accepted(attempt, name):
    done = attempt(**ACCEPTED[name])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(attempt, name):
    done = attempt(**REFUSED[name])
    assert (done.returncode, done.stdout) == (program.NO_SERVER, ""), done.stderr
    assert "localhost" in done.stderr or "127.0.0.1" in done.stderr


def test_a_root_that_is_no_file_means_nothing(attempt):
    done = attempt(sslmode="verify-full", sslrootcert="nowhere.crt")
    assert done.returncode == program.USAGE and "nowhere.crt" in done.stderr


def test_the_session_is_encrypted_and_named(secured, certificates):
    """What the server says of it, while it follows."""
    place = f"host=localhost user=postgres dbname=postgres sslmode=verify-full sslrootcert={certificates.file('authority.crt')}"
    seen = "SELECT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'turnstile tail'"
    with server() as admin:
        admin.execute("SELECT turnstile.enqueue('work')")
        admin.execute("SELECT turnstile.complete(id, attempt) FROM turnstile.claim_next()")
        with program.Follower("-d", place, "tail") as tail:
            assert "completed" in tail.line()
            assert admin.execute(seen).fetchall() == [(True, "TLSv1.3")]


@pytest.fixture
def presents(secured, certificates):
    """Has the server present another certificate."""

    def present(name: str) -> None:
        with server() as admin:
            admin.execute(f"ALTER SYSTEM SET ssl_cert_file = '{certificates.file(name + '.crt')}'")
            admin.execute(f"ALTER SYSTEM SET ssl_key_file = '{certificates.file(name + '.key')}'")
            admin.execute("SELECT pg_reload_conf()")

    yield present
    present("server")


@pytest.mark.parametrize(
    "presented, root, said",
    [
        ("alone", "authority.crt", "(CA:TRUE)"),
        ("server", "other.crt", "no authority that is known here has issued it"),
        ("expired", "authority.crt", "it has expired"),
    ],
)
def test_why_a_certificate_is_not_trusted_is_told_in_words(attempt, presents, presented, root, said):
    presents(presented)
    until(lambda: said in attempt(sslmode="verify-full", sslrootcert=root).stderr, said)


def test_a_certificate_that_is_its_own_authority(attempt, presents):
    presents("alone")
    _await(attempt, sslmode="verify-full", sslrootcert="alone.crt")
    assert attempt(sslmode="require").returncode == 0
    assert attempt("127.0.0.1", sslmode="verify-ca", sslrootcert="alone.crt").returncode == 0
    assert attempt("127.0.0.1", sslmode="verify-full", sslrootcert="alone.crt").returncode == program.NO_SERVER
    assert attempt(sslmode="verify-full", sslrootcert="authority.crt").returncode == program.NO_SERVER


def test_a_certificate_that_has_expired(attempt, presents):
    presents("expired")
    give_up = time.monotonic() + program.GIVE_UP
    while (done := attempt(sslmode="verify-ca", sslrootcert="authority.crt")).returncode == 0:
        assert time.monotonic() < give_up, "the server does not present it"
    for mode in ("verify-ca", "verify-full"):
        done = attempt(sslmode=mode, sslrootcert="expired.crt")
        assert done.returncode == program.NO_SERVER and "xpired" in done.stderr
    assert attempt(sslmode="require").returncode == 0


def _await(attempt, **given) -> None:
    """A reload takes a moment."""
    give_up = time.monotonic() + program.GIVE_UP
    while (done := attempt(**given)).returncode != 0:
        assert time.monotonic() < give_up, done.stderr
