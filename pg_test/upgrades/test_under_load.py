"""Workers and producers that were there before go on while the extension is upgraded, release after release.

They keep their connections, their prepared statements and the SQL that they had, in functions of their own, too.
"""

import contextlib
import random
import sys
from collections import Counter

from support.calls import call
from support.crew import Progress, together
from support.scripts import CURRENT, made_up, placed
from upgrades.script import upgrade_script

# That end between two upgrades, at least, and before the first and after the last.
JOBS = 1_000
# More than these a producer does not keep waiting.
WAITING = 500
PRODUCERS = WORKERS = 6
_COLUMNS = """
ALTER TABLE turnstile.job ADD COLUMN more_{n} text NOT NULL DEFAULT 'none';
ALTER TABLE turnstile.job_history ADD COLUMN more_{n} text NOT NULL DEFAULT 'none';
CREATE INDEX more_{n} ON turnstile.job (more_{n}) WHERE more_{n} <> 'none';
"""
_TABLES = """
CREATE TABLE turnstile.more_{n} (name text PRIMARY KEY, slots int);
ALTER TABLE turnstile.tenant ADD COLUMN more_{n} int;
ALTER TABLE turnstile.queue ALTER COLUMN lease SET DEFAULT '7 minutes';
"""
# The table is written anew: places of rows that memory and open transactions may know are others afterwards.
_REWRITE = """
ALTER TABLE turnstile.job ADD COLUMN more_{n} float8 DEFAULT random();
ALTER TABLE turnstile.job_history ADD COLUMN more_{n} float8 DEFAULT random();
REINDEX TABLE turnstile.job;
"""
_BODIES = """
DO $block$
DECLARE
    definition text;
BEGIN
    FOR definition IN
        SELECT pg_catalog.pg_get_functiondef(oid) FROM pg_catalog.pg_proc
        WHERE pronamespace IN ('turnstile'::pg_catalog.regnamespace, 'turnstile_internal'::pg_catalog.regnamespace) AND prokind IN ('f', 'p')
    LOOP
        EXECUTE definition;
    END LOOP;
END
$block$;
ALTER TABLE turnstile.job DISABLE TRIGGER place_job;
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job;
"""
# Another argument makes another function.
_ARGUMENTS = """
DO $block$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT proc.oid::pg_catalog.regprocedure AS name, pg_catalog.pg_get_functiondef(proc.oid) AS definition,
            pg_catalog.pg_get_function_arguments(proc.oid) AS arguments
        FROM pg_catalog.pg_proc AS proc
        WHERE proc.pronamespace IN ('turnstile'::pg_catalog.regnamespace, 'turnstile_internal'::pg_catalog.regnamespace)
            AND proc.proname IN ('enqueue', 'enqueue_many', 'claim_next', 'claim', 'complete', 'complete_many', 'progress', 'release')
    LOOP
        EXECUTE pg_catalog.format('DROP FUNCTION %s', old.name);
        EXECUTE pg_catalog.replace(old.definition, old.arguments || ')', old.arguments || ', more_{n} text DEFAULT NULL)');
    END LOOP;
END
$block$;
"""
CHANGES = [_COLUMNS, _BODIES, _TABLES, _REWRITE, _BODIES, _COLUMNS, _ARGUMENTS, _ARGUMENTS]


@contextlib.contextmanager
def _releases():
    """Versions that follow each other, each with its script."""
    with contextlib.ExitStack() as stack:
        versions = [CURRENT, *(made_up() for _ in CHANGES)]
        for n, (old, new) in enumerate(zip(versions, versions[1:], strict=False)):
            stack.enter_context(placed(f"{old}--{new}", upgrade_script(CHANGES[n].format(n=n))))
        yield versions[1:]


class _Producer:
    """Enqueues in all ways; `made` are the jobs of calls that have returned."""

    def __init__(self, db, name: int, progress: Progress):
        self.conn = db.connect()
        self.conn.prepare_threshold = 0
        self.name, self.progress, self.made = f"p{name}", progress, []
        # Without what may have been there already, for its unique key.
        self.added = 0
        self.choose = random.Random(name)

    def run(self):
        while self.progress.going:
            if self.added > self.progress.ended // PRODUCERS + WAITING:
                self.progress.idle()
                continue
            made = self.choose.choice([self._one, self._many, self._by_hand, self._in_plpgsql])()
            self.made += made
            self.added += max(1, len(made) - 1)
        return self.made

    def _one(self):
        query = "SELECT turnstile.enqueue('one', tenant => %s, session => %s)"
        session = self.choose.choice([None, f"{self.name} {self.choose.randrange(3)}"])
        return [self.conn.execute(query, [self.name, session]).fetchone()[0]]

    def _many(self):
        query = """SELECT id FROM turnstile.enqueue_many('[{"kind": "many"}, {"kind": "many", "unique_key": "k"}, {"kind": "many"}]')"""
        return [job for (job,) in self.conn.execute(query).fetchall()]

    def _by_hand(self):
        return [self.conn.execute("INSERT INTO turnstile.job (kind, lane) VALUES ('hand', 0) RETURNING id").fetchone()[0]]

    def _in_plpgsql(self):
        return [self.conn.execute("SELECT my_enqueue()").fetchone()[0]]


class _Worker:
    """Claims and completes in all ways; `done` are the jobs whose end was acknowledged."""

    def __init__(self, db, name: int, progress: Progress):
        self.conn = db.connect()
        self.conn.prepare_threshold = 0
        self.progress, self.done = progress, []
        self.choose = random.Random(1_000 + name)

    def run(self):
        while self.progress.going:
            if not self.choose.choice([self._one, self._many, self._in_one_transaction, self._chain])():
                self.progress.idle()
        return self.done

    def _ended(self, jobs: list[int]) -> bool:
        self.done += jobs
        self.progress.add(len(jobs))
        return bool(jobs)

    def _claim(self):
        return self.conn.execute("SELECT id, attempt FROM turnstile.claim_next()").fetchone()

    def _one(self):
        if run := self._claim():
            assert self.conn.execute("SELECT turnstile.complete(%s, %s)", run).fetchone() == (True,)
        return self._ended([run[0]] if run else [])

    def _many(self):
        runs = self.conn.execute("SELECT id, attempt FROM turnstile.claim(ARRAY['default'], 5)").fetchall()
        ids, attempts = [run[0] for run in runs], [run[1] for run in runs]
        if runs:
            done = self.conn.execute("SELECT turnstile.complete_many(%s, %s)", [ids, attempts]).fetchone()
            assert done == (len(runs),)
        return self._ended(ids)

    def _in_one_transaction(self):
        with self.conn.transaction():
            if run := self._claim():
                self.conn.execute("SELECT turnstile.progress(%s, %s, 1)", run)
                assert self.conn.execute("SELECT turnstile.complete(%s, %s)", run).fetchone() == (True,)
        return self._ended([run[0]] if run else [])

    def _chain(self):
        """The last is given back."""
        run, ended = self._claim(), []
        while run:
            query = "SELECT id, attempt FROM turnstile.complete_and_claim_next(%s, %s)"
            following = self.conn.execute(query, run).fetchone()
            ended.append(run[0])
            run = following if len(ended) < 3 else None
            if following and not run:
                assert self.conn.execute("SELECT turnstile.release(%s, %s)", following).fetchone() == (True,)
        return self._ended(ended)


def _upgrade(conn, versions: list[str], progress: Progress) -> int:
    """One release after the other, with jobs that end between them; then all may stop."""
    for version in versions:
        _more_jobs_end(progress)
        conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{version}'")
    _more_jobs_end(progress)
    progress.total = 0
    return len(versions)


def _more_jobs_end(progress: Progress) -> None:
    goal = progress.ended + JOBS
    while progress.ended < goal:
        assert progress.going, "another task has failed"
        progress.idle()


def test_old_workers_and_producers_go_on(db, conn):
    conn.execute("CREATE FUNCTION my_enqueue() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN turnstile.enqueue('mine'); END $$")
    progress = Progress(sys.maxsize)
    producers = [_Producer(db, n, progress) for n in range(PRODUCERS)]
    workers = [_Worker(db, n, progress) for n in range(WORKERS)]
    # Errors of any kind end the test: nothing is repeated here.
    with _releases() as versions:
        tasks = [lambda: _upgrade(conn, versions, progress)]
        results = together([*tasks, *(it.run for it in (*producers, *workers))], progress)
    assert results[0] == len(CHANGES)
    made = {job for producer in producers for job in producer.made}
    left = call(conn, "claim", queues=["default"], max_jobs=100_000)
    while left:
        ids = [run.id for run in left]
        assert conn.execute("SELECT turnstile.complete_many(%s, %s)", [ids, [run.attempt for run in left]]).fetchone() == (len(ids),)
        workers[0].done += ids
        left = call(conn, "claim", queues=["default"], max_jobs=100_000)
    done = Counter(job for worker in workers for job in worker.done)
    assert {job for job, times in done.items() if times > 1} == set()
    assert done.keys() == made
    assert conn.execute("SELECT count(*) FROM turnstile.job").fetchone() == (0,)
    ended = dict(conn.execute("SELECT id, state::text FROM turnstile.job_history").fetchall())
    assert ended == dict.fromkeys(made, "completed")
    assert call(conn, "check") == []
