"""`make uninstall` removes what `make install` has put there, and nothing else."""

import os
import subprocess
from pathlib import Path

from support.system import ROOT

BYSTANDERS = ("usr/share/postgresql/extension/turnstile_more.control", "usr/share/turnstile--1.0.sql")


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _script(name: str, folder: Path) -> str:
    environment = os.environ | {"DESTDIR": str(folder)}
    return subprocess.run([ROOT / "scripts" / name], env=environment, check=True, capture_output=True, text=True).stdout


def test_nothing_of_it_stays_and_nothing_else_goes(tmp_path):
    others = set(BYSTANDERS)
    for path in others:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    _script("install", tmp_path)
    installed = _files(tmp_path) - others
    assert {Path(path).suffix for path in installed} == {".so", ".control", ".sql", "", ".1", ".fish"}
    share = "usr/local/share/"
    program = {
        "usr/local/bin/turnstile",
        f"{share}man/man1/turnstile.1",
        f"{share}man/man1/turnstile-tail.1",
        f"{share}bash-completion/completions/turnstile",
        f"{share}zsh/site-functions/_turnstile",
        f"{share}fish/vendor_completions.d/turnstile.fish",
    }
    assert program <= installed
    for path in installed:
        beside = f"{Path(path).parent}/turnstile--own--script.sql"
        (tmp_path / beside).touch()
        others.add(beside)
    removed = _script("uninstall", tmp_path).splitlines()
    assert _files(tmp_path) == others
    assert {line.removeprefix(f"removed {tmp_path}/") for line in removed} == installed
    assert _script("uninstall", tmp_path) == ""


PG_CONFIG = """#!/bin/sh
case $1 in
  --version) echo 'PostgreSQL 15.0' ;;
  --configure) ;;
  *) echo {folder} ;;
esac
"""


def test_the_files_of_a_package_are_left_to_it(tmp_path):
    """With a server and a dpkg of its own, whatever this machine has."""
    programs = {"pg_config": PG_CONFIG.format(folder=tmp_path), "dpkg-query": '#!/bin/sh\necho "postgresql-15-turnstile: $2"\n'}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    library = tmp_path / "turnstile.so"
    library.touch()
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TURNSTILE_PG_CONFIG": str(tmp_path / "pg_config")}
    done = subprocess.run([ROOT / "scripts/uninstall"], env=os.environ | own, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{library} belongs to a package" in done.stderr
    assert library.exists()
