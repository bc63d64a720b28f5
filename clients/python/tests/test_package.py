"""The package as it is built, and the oldest Python that it names."""

import ast
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
SOURCES = [*sorted(PACKAGE.glob("src/**/*.py")), PACKAGE / "conformance_driver.py"]


def test_it_builds(tmp_path):
    pytest.importorskip("build")
    # The wheel is made of the archive of the sources.
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PACKAGE)], check=True, stdout=subprocess.DEVNULL)
    assert len([*tmp_path.glob("*.tar.gz")]) == 1
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "turnstile_client/py.typed" in names
    assert [name for name in names if name.endswith("entry_points.txt")]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_oldest_python_reads_it(source):
    [oldest] = re.findall(r'requires-python = ">=3\.(\d+)"', (PACKAGE / "pyproject.toml").read_text())
    ast.parse(source.read_text(), feature_version=(3, int(oldest)))
