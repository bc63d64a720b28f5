"""The life of a package in a fresh system: installed as the README says, upgraded below a running server, removed."""

import re
import subprocess

import pytest

from support.system import ROOT, System

README = (ROOT / "README.md").read_text()


def _lines(heading: str) -> list[str]:
    """The lines of the first block of commands below a heading of the README."""
    section = README.split(f" {heading}\n", 1)[1]
    return re.search(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[1].splitlines()


INSTALL, REMOVE = _lines("Install"), _lines("Remove")
EXAMPLE = re.search(r"^```sql\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[1]


class Server:
    """The server of a fresh system, and its database mydb."""

    def __init__(self, system: System, major: str):
        self.system = system
        self.major = major

    def ctl(self, action: str) -> None:
        self.system.run("pg_ctlcluster", self.major, "main", action)

    def sql(self, statements: str) -> str:
        command = ["psql", "-XAtq", "--set", "ON_ERROR_STOP=1", "--dbname", "mydb"]
        return self.system.run(*command, user="postgres", text=statements).strip()

    def work(self) -> None:
        """Jobs go through it, and its memory is as its tables."""
        self.sql("SELECT turnstile.enqueue('work', '{}')")
        assert self.sql("SELECT turnstile.complete(id, attempt) FROM turnstile.claim_next()") == "t"
        assert self.sql("SELECT * FROM turnstile.check()") == ""


@pytest.fixture
def server(system, packages):
    """Not yet there: it comes with the package. Its port is nobody's, since it listens on its socket only."""
    rule = "/etc/postgresql-common/createcluster.d/test.conf"
    system.script(f"mkdir -p {rule.rpartition('/')[0]} && echo \"listen_addresses = ''\" >{rule} && apt-get update")
    return Server(system, packages.major)


def _of_this_version(lines: list[str], packages) -> list[str]:
    return [line.replace("postgresql-15", f"postgresql-{packages.major}").replace(" 15 main", f" {packages.major} main") for line in lines]


def test_it_is_installed_upgraded_and_removed(system, server, packages):
    for package in packages.both("1"):
        system.put(package, "/srv/")
    install, preload, create = _of_this_version(INSTALL, packages)
    system.script(install, cwd="/srv")
    server.ctl("start")
    system.run("createdb", "mydb", user="postgres")
    system.script(preload + "\n" + create)

    assert server.sql("CREATE TABLE orders (item text);" + EXAMPLE).splitlines()[:3] == ["1", '1|1|{"order": 7}', "t"]
    assert server.sql("SELECT state FROM turnstile.jobs") == "completed"
    assert server.sql("SELECT turnstile.version()") == _version()
    left = ["turnstile", "-d", "mydb", "enqueue", "left", "--queue", "left"]
    assert system.run(*left, user="postgres") == "2\n"

    for package in packages.both("2"):
        system.put(package, "/tmp/")
    system.run("apt", "install", *[f"/tmp/{package.name}" for package in packages.both("2")])
    for name in (packages.name, "turnstile-cli"):
        assert system.run("dpkg-query", "--show", "--showformat", "${Version}", name).endswith("-2")
    server.work()
    server.ctl("restart")
    server.work()
    assert server.sql("SELECT kind FROM turnstile.claim_next('left')") == "left"

    listed = system.run("dpkg", "-L", packages.name, "turnstile-cli").splitlines()
    files = [path for path in listed if path and not system.inside(path).is_dir()]
    assert set(files) >= set(packages.files(revision="2")) | set(packages.contents(packages.program("2")))
    drop, forget, purge = _of_this_version(REMOVE, packages)
    system.script(drop + "\n" + forget)
    assert server.sql("SHOW shared_preload_libraries") == ""
    assert server.sql("TABLE orders") == "book"
    system.script(purge)
    assert [path for path in files if system.has(path)] == []
    assert system.attempt("dpkg-query", "--show", packages.name).returncode == 1
    system.run("rm", *[f"/srv/{package.name}" for package in packages.both("1")], *[f"/tmp/{package.name}" for package in packages.both("2")])
    assert system.run("find", "/", "-xdev", "-iname", "*turnstile*") == ""
    server.ctl("restart")
    assert server.sql("TABLE orders") == "book"


def _version() -> str:
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def test_it_holds_the_library_without_symbols_and_each_script(packages):
    files = packages.files(revision="1")
    library = f"/usr/lib/postgresql/{packages.major}/lib/turnstile.so"
    scripts = f"/usr/share/postgresql/{packages.major}/extension/"
    own = {f"turnstile--{_version()}.sql", "turnstile.control"}
    assert {path for path in files if path.startswith(scripts)} == {
        scripts + name for name in own | {path.name for path in (ROOT / "sql").glob("turnstile--*.sql")}
    }
    assert [path for path in files if path.endswith(".so")] == [library]
    built = (ROOT / "target/release/libturnstile.so").stat().st_size
    assert files[library] < built / 2
    (symbols,) = packages.files(revision="1", symbols=True)
    assert symbols.startswith("/usr/lib/debug/.build-id/")


def test_the_program_has_manual_pages_and_completions(packages):
    files = set(packages.contents(packages.program("1")))
    commands = subprocess.run([ROOT / "target/release/turnstile", "help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z]+) {2,}", commands.split("\nCommands:\n")[1].split("\n\n")[0], re.MULTILINE)
    assert {"work", "top", "tail", "why", "enqueue", "retry", "cancel", "check"} <= set(names)
    pages = {f"turnstile-{name}" for name in names if name != "help"} | {"turnstile"}
    assert {path for path in files if path.startswith("/usr/share/man/")} == {f"/usr/share/man/man1/{page}.1.gz" for page in pages}
    assert {
        "/usr/bin/turnstile",
        "/usr/share/bash-completion/completions/turnstile",
        "/usr/share/zsh/vendor-completions/_turnstile",
        "/usr/share/fish/vendor_completions.d/turnstile.fish",
    } <= files


def test_its_pages_lead_to_no_page_that_is_missing(packages):
    """But to those for who changes the source."""
    pages = f"/usr/share/doc/{packages.name}/"
    files = packages.files(revision="1")
    assert {pages + name for name in ("README.md", "SECURITY.md", "copyright", "changelog.gz", "docs/operations.md")} <= set(files)
    assert [path for path in files if path.endswith(".md.gz")] == []


def test_it_holds_what_monitoring_needs(packages):
    folder = ROOT / "packaging" / "monitoring"
    place = f"/usr/share/doc/{packages.name}/examples/monitoring/"
    assert {place + path.name for path in folder.iterdir()} <= set(packages.files(revision="1"))


def test_who_builds_it_is_named():
    maintainer = {"DEBFULLNAME": "Some Body", "DEBEMAIL": "body@example.org", "SOURCE_DATE_EPOCH": "0"}
    done = subprocess.run([ROOT / "scripts/package", "--changelog"], env=maintainer | {"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == " -- Some Body <body@example.org>  Thu, 01 Jan 1970 00:00:00 +0000"
