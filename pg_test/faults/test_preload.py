"""Without the preload there is no shared memory: the extension says what to do instead of half working."""

import psycopg
import pytest

from faults.cluster import own_cluster
from support.database import fresh_database


def test_create_extension_without_the_preload_names_the_line_to_add():
    settings = {"shared_preload_libraries": "", "fsync": "off"}
    with own_cluster("faults_preload", **settings), fresh_database(extension=False) as database:
        connection = database.connect()
        with pytest.raises(psycopg.Error) as refusal:
            connection.execute("CREATE EXTENSION turnstile")
        assert refusal.value.sqlstate == "55000"
        assert "shared_preload_libraries = 'turnstile'" in refusal.value.diag.message_hint
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'turnstile'").fetchone() == (0,)
