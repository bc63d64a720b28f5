"""One database with pg_cron for all tests here: pg_cron knows a single one, named in cron.database_name."""

import psycopg
import pytest
from psycopg import sql

from support.database import GUARDS, Database, server


@pytest.fixture(scope="session")
def cron_db():
    """The database that pg_cron knows."""
    with server() as admin:
        name = admin.execute("SHOW cron.database_name").fetchone()[0]
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    with psycopg.connect(dbname=name, autocommit=True, options=GUARDS) as setup:
        setup.execute("CREATE EXTENSION turnstile; CREATE EXTENSION pg_cron")
    database = Database(name)
    yield database
    database.close()


@pytest.fixture
def db(cron_db: Database):
    """That database with nothing scheduled and no job in it."""
    with psycopg.connect(dbname=cron_db.name, autocommit=True, options=GUARDS) as clean:
        clean.execute(
            "SELECT cron.unschedule(jobid) FROM cron.job; TRUNCATE cron.job_run_details;"
            " DELETE FROM turnstile.job; DELETE FROM turnstile.job_history"
        )
    return cron_db
