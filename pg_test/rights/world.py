"""Roles, what each may do, and jobs of everybody: the tables from which the matrix is generated.

Every role may call every function and change every job by plain DML, so that only `turnstile.permission` tells them apart.
"""

import contextlib
import secrets
from dataclasses import dataclass

import psycopg
from psycopg import sql

from support.database import Database, fresh_database, server

ALL = "*"
# What the roles may do: what allow_... gives them.
PERMISSIONS = {
    "nobody": [],
    "producer": [("enqueue", "mail", "acme")],
    "worker": [("work", "mail", ALL)],
    "tenant": [("see", ALL, "acme"), ("manage", ALL, "acme")],
    "operator": [("manage", ALL, ALL)],
    "everything": [(ALL, ALL, ALL)],
}
CALLS = {
    "producer": "SELECT turnstile.allow_producer({role}, '{{mail}}', '{{acme}}')",
    "worker": "SELECT turnstile.allow_worker({role}, '{{mail}}')",
    "tenant": "SELECT turnstile.allow_tenant({role}, '{{acme}}')",
    "operator": "SELECT turnstile.allow_operator({role})",
    "everything": "INSERT INTO turnstile.permission (role, verb) VALUES ({role}, '*')",
}

# Whose jobs: queue and tenant.
TARGETS = {
    "own": ("mail", "acme"),
    "other queue": ("sms", "acme"),
    "other tenant": ("mail", "globex"),
    "no tenant": ("mail", None),
    "neither": ("sms", "globex"),
}
# Stands in whatever a job holds that only those may see who may see the job.
SECRET = "s3cret"


def allowed(role: str, verb: str, queue: str, tenant: str | None) -> bool:
    """What turnstile.permission means, said once more."""
    return any(
        has in (verb, ALL) and on in (queue, ALL) and (of == ALL or of == tenant) for has, on, of in PERMISSIONS[role]
    )


def beyond_status(role: str, told: str) -> str:
    """What is told but for the kinds of jobs, which an operator sees in job_status as well."""
    return told.replace(f"{SECRET} kind", "") if role == "operator" else told


@dataclass
class World:
    database: Database
    prefix: str
    # Ids of jobs that wait, run or are finished, by target.
    jobs: dict

    def name(self, role: str) -> str:
        return f"{self.prefix}_{role}"


def _statement(text: str, **names) -> sql.Composed:
    return sql.SQL(text).format(**{name: sql.Identifier(value) for name, value in names.items()})


def _make_roles(conn, prefix: str, with_tables: bool) -> None:
    conn.execute(_statement("CREATE ROLE {r}", r=f"{prefix}_stranger"))
    for kind in PERMISSIONS:
        role, member = f"{prefix}_{kind}", f"{prefix}_{kind}_member"
        conn.execute(_statement("CREATE ROLE {r}; CREATE ROLE {m} IN ROLE {r}", r=role, m=member))
        if kind in CALLS:
            conn.execute(sql.SQL(CALLS[kind]).format(role=sql.Literal(role)))
        conn.execute(_statement("GRANT USAGE ON SCHEMA turnstile, turnstile_internal TO {r}; GRANT EXECUTE ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal TO {r}", r=role))
        if not with_tables:
            continue
        conn.execute(
            _statement(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON turnstile.job TO {r}; GRANT USAGE ON ALL SEQUENCES IN SCHEMA turnstile TO {r};"
                " GRANT SELECT, INSERT, UPDATE, DELETE ON turnstile.queue, turnstile.tenant, turnstile.account, turnstile.concurrency,"
                " turnstile.batch, turnstile.paused_session, turnstile.route, turnstile.endpoint, turnstile.slowed_key, turnstile.retry_curve, turnstile.my_jobs TO {r};"
                " GRANT SELECT ON turnstile.job_status TO {r}",
                r=role,
            )
        )
        # A function of the role's, for one who may do nothing himself.
        conn.execute(
            _statement(
                "CREATE FUNCTION {f}(statement text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER AS $$ DECLARE found record;"
                " BEGIN IF statement ILIKE 'SELECT%' THEN FOR found IN EXECUTE statement LOOP RETURN NEXT found::text; END LOOP;"
                " ELSE EXECUTE statement; END IF; END $$; ALTER FUNCTION {f} OWNER TO {r};"
                " REVOKE ALL ON FUNCTION {f} FROM PUBLIC; GRANT EXECUTE ON FUNCTION {f} TO {s}",
                f=f"as_{kind}", r=role, s=f"{prefix}_stranger",
            )  # fmt: skip
        )


def _make_jobs(conn, is_secret) -> dict:
    """One job that waits, one that runs, one that is finished, of each target."""
    jobs = {}
    for target, (queue, tenant) in TARGETS.items():
        add = (
            "SELECT turnstile.enqueue(%s, %s::jsonb, queue => %s, tenant => %s, session => %s, unique_key => %s,"
            " unique_mode => 'replace', metadata => %s::jsonb)"
        )
        said = SECRET if is_secret(queue, tenant) else "said"
        for state in ("finished", "running", "waiting"):
            key = f"{state} {queue}"
            values = [f"{said} kind", f'"{said}"', queue, tenant, f"{said} {state}", key, f'"{said}"']
            job_id = conn.execute(add, values).fetchone()[0]
            if state != "waiting":
                run = conn.execute("SELECT id, attempt FROM turnstile.claim_next(%s)", [queue]).fetchone()
                assert run == (job_id, 1)
            if state == "finished":
                conn.execute("SELECT turnstile.fail(%s, 1, %s, discard => true)", [job_id, said])
            jobs[target, state] = job_id
        # What waits must not be claimed for the next target.
        conn.execute("UPDATE turnstile.job SET run_at = 'infinity', state = 'scheduled' WHERE id = %s", [jobs[target, "waiting"]])
    conn.execute("UPDATE turnstile.job SET run_at = now(), state = 'available' WHERE state = 'scheduled'")
    return jobs


ROUTES = """
SELECT turnstile.set_route('to sms', queue => 'sms');
SELECT turnstile.set_route('to mail', queue => 'mail');
SELECT turnstile.set_route('always sms', queue => 'sms', override => true);
SELECT turnstile.set_route('always mail', queue => 'mail', override => true);
"""


@contextlib.contextmanager
def world(no_op_trigger: bool = False, with_tables: bool = True, is_secret=lambda queue, tenant: True):
    """A database with roles and jobs; with a user's trigger on jobs that does nothing all goes the server's usual way. Without
    tables the roles may call everything, and reach the tables that allow_... gives them."""
    prefix = f"turnstile_{secrets.token_hex(4)}"
    try:
        with fresh_database() as database:
            conn = database.connect()
            _make_roles(conn, prefix, with_tables)
            jobs = _make_jobs(conn, is_secret)
            conn.execute(ROUTES)
            if no_op_trigger:
                conn.execute(
                    "CREATE FUNCTION no_op() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$;"
                    "CREATE TRIGGER no_op BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION no_op()"
                )
            yield World(database, prefix, jobs)
    finally:
        with server() as admin:
            for (name,) in admin.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE %s", [f"{prefix}%"]).fetchall():
                admin.execute(_statement("DROP ROLE {r}", r=name))


# ---- Ways to be a role ----------------------------------------------------------------------------


def as_set_role(world: World, role: str, statement: str) -> tuple[str, str]:
    return f'SET LOCAL ROLE "{world.name(role)}"', statement


def as_member(world: World, role: str, statement: str) -> tuple[str, str]:
    return f'SET LOCAL ROLE "{world.name(role)}_member"', statement


def as_wrapper(world: World, role: str, statement: str) -> tuple[str, str]:
    quoted = statement.replace("'", "''")
    return f'SET LOCAL ROLE "{world.prefix}_stranger"', f"SELECT * FROM public.as_{role}('{quoted}')"


WAYS = {"SET ROLE": as_set_role, "member": as_member, "wrapper": as_wrapper}


def attempt(conn, world: World, way: str, role: str, statement: str) -> tuple[str, str]:
    """The SQLSTATE of a statement run as a role, and all that it said or gave; whatever it did is undone."""
    become, run = WAYS[way](world, role, statement)
    conn.execute("BEGIN")
    try:
        conn.execute(become)
        if run.startswith("COPY"):
            with conn.cursor().copy(run.split("\n")[0]) as copy:
                copy.write(run.split("\n", 1)[1])
            return "00000", ""
        cursor = conn.execute(run)
        return "00000", str(cursor.fetchall() if cursor.description else "")
    except psycopg.Error as error:
        told = error.diag
        return error.sqlstate, f"{told.message_primary} {told.message_detail} {told.message_hint}"
    finally:
        conn.execute("ROLLBACK")
