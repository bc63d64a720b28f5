"""Certificates of a test: those of an authority, one that is its own, one that has expired."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def _openssl(*arguments) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _key_options(path: Path) -> list:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{path}.key", "-out", f"{path}.crt"]


def _self_signed(path: Path, *more: str) -> None:
    _openssl("req", "-x509", "-days", "2", "-subj", f"/CN={path.name}", *_key_options(path), *more)


def _signed(path: Path, by: Path, *more: str) -> None:
    _openssl("req", "-x509", "-days", "2", "-subj", f"/CN={path.name}", *_key_options(path), "-CA", f"{by}.crt", "-CAkey", f"{by}.key",
             "-addext", "basicConstraints=critical,CA:FALSE", *more)  # fmt: skip


def _expired(path: Path, *names: str) -> None:
    (path.parent / "names").write_text("\n".join(names))
    _openssl("req", "-new", "-subj", f"/CN={path.name}", *_key_options(path))
    Path(f"{path}.crt").rename(path)
    _openssl("x509", "-req", "-days", "-1", "-in", path, "-signkey", f"{path}.key", "-extfile", path.parent / "names", "-out", f"{path}.crt")


class Certificates:
    def __init__(self, folder: Path, rules: str):
        """`rules`: those of the server that has these certificates, as pg_hba.conf has them."""
        self.folder = folder
        names = ("-addext", "subjectAltName=DNS:localhost")
        _self_signed(folder / "authority")
        _self_signed(folder / "other")
        _signed(folder / "server", folder / "authority", *names)
        _signed(folder / "certified", folder / "authority")
        # As the manual of PostgreSQL makes one, which is its own authority.
        _self_signed(folder / "alone", *names)
        _expired(folder / "expired", "subjectAltName=DNS:localhost", "basicConstraints=critical,CA:TRUE")
        (folder / "rules").write_text(rules)
        for path in folder.iterdir():
            path.chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(path, "postgres", "postgres")

    def file(self, name: str) -> str:
        return str(self.folder / name)


@contextlib.contextmanager
def made_for(rules: str):
    """In a folder that the server can read."""
    with tempfile.TemporaryDirectory(prefix="turnstile-tls.") as folder:
        place = Path(folder)
        place.chmod(0o755)
        yield Certificates(place, rules)
