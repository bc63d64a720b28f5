"""What holds for each of these tests: the server is still the one that it was."""

import psycopg
import pytest

from faults.cluster import wait_until_up
from support.database import server


@pytest.fixture(autouse=True)
def the_server_stays_up():
    """A crash of any backend ends all connections, this one too."""
    wait_until_up()
    with server() as witness:
        yield
        try:
            witness.execute("SELECT 1")
        except psycopg.OperationalError:
            wait_until_up()
            pytest.fail("the server has crashed")
