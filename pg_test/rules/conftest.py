"""A connection for tests of what holds whichever way rows are written."""

import pytest

WAYS = {
    "the extension's own triggers only": "SELECT",
    "a trigger of a user": "CREATE TRIGGER other AFTER INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()",
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def both(request, conn):
    """A connection to jobs whose rows go the short way, or the server's usual one."""
    conn.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    conn.execute(request.param)
    return conn
