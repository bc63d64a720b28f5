"""A primary and its standby, which take each other's place again and again."""

from support.node import Node, await_true

SYNCHRONOUS = "*"
DATABASE = "jobs"


class Pair:
    """The statements and commands are those of docs/operations.md."""

    def __init__(self, home, is_synchronous: bool, **settings):
        self.is_synchronous = is_synchronous
        self.primary, self.standby = Node(home, "a", **settings), Node(home, "b", **settings)

    def begin(self) -> None:
        self.primary.initialize()
        self.primary.start()
        with self.primary.connect() as conn:
            conn.execute(f"CREATE DATABASE {DATABASE}")
        with self.primary.connect(DATABASE) as conn:
            conn.execute("CREATE EXTENSION turnstile")
        self.standby.copy(self.primary)
        self.standby.start()
        self.await_standby()

    def destroy(self) -> None:
        for node in (self.primary, self.standby):
            node.destroy()

    @property
    def url(self) -> str:
        """Leads to whichever of the two is the primary."""
        ports = sorted([self.primary.port, self.standby.port])
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"postgresql://postgres@{hosts}/{DATABASE}?target_session_attrs=read-write&connect_timeout=5"

    def _set_synchronous(self, names: str) -> None:
        with self.primary.connect() as conn:
            conn.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            conn.execute("SELECT pg_reload_conf()")

    def await_standby(self) -> None:
        """All that was committed so far is on the standby, and in a synchronous pair all that will be."""
        wanted = "async"
        if self.is_synchronous:
            self._set_synchronous(SYNCHRONOUS)
            wanted = "sync"
        query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = %s AND flush_lsn >= %s::pg_lsn"
        written = self.primary.value("SELECT pg_current_wal_insert_lsn()::text")
        await_true(lambda: self.primary.value(query, wanted, written) == 1, "the standby has followed")

    # ---- One fails, the other takes over ------------------------------------------------------------

    def kill_primary(self) -> None:
        self.primary.kill()
        self._promote()

    def kill_primary_ahead(self, work) -> None:
        """As above, after the primary has gone ahead of its standby for a while, in which `work` is called."""
        with self.standby.connect() as standby:
            standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
            standby.execute("SELECT pg_reload_conf()")
            receivers = "SELECT count(*) FROM pg_stat_wal_receiver"
            await_true(lambda: standby.execute(receivers).fetchone()[0] == 0, "the standby receives nothing more")
        work()
        self.kill_primary()

    def switch_over(self) -> None:
        """Nothing is lost in any pair: a primary that is shut down sends its standby all that it has."""
        self.primary.stop("fast")
        self._promote()

    def _promote(self) -> None:
        self.primary, self.standby = self.standby, self.primary
        if self.is_synchronous:
            self.primary.promote()
            self._set_synchronous("")
        else:
            self._promote_with_fresh_ids()
        with self.primary.connect() as conn:
            conn.execute("CHECKPOINT")

    def _promote_with_fresh_ids(self) -> None:
        """Workers may know jobs that this server has never heard of. Before anybody is let in, their ids are passed by."""
        with self.primary.connect(options="-c default_transaction_read_only=off") as conn:
            conn.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            conn.execute("SELECT pg_reload_conf()")
            await_true(self._lets_nobody_write, "clients are kept out")
            self.primary.promote()
        with self.primary.connect(DATABASE, options="-c default_transaction_read_only=off") as conn:
            conn.execute("SELECT setval('turnstile.job_id_seq', nextval('turnstile.job_id_seq') + 1000000)")
            conn.execute("ALTER SYSTEM RESET default_transaction_read_only")
            conn.execute("SELECT pg_reload_conf()")

    def _lets_nobody_write(self) -> bool:
        return self.primary.value("SHOW default_transaction_read_only") == "on"

    def bring_back(self) -> None:
        """The old primary becomes the standby."""
        self.standby.rewind(self.primary)
        self.standby.start()
        self.await_standby()

    def last_common_lsn(self) -> str:
        """Where the history of the primary left that of the one before."""
        query = """
            SELECT split_part(line, E'\t', 2)
              FROM pg_control_checkpoint(), LATERAL pg_read_file(
                     'pg_wal/' || lpad(upper(to_hex(timeline_id)), 8, '0') || '.history') AS text,
                   LATERAL regexp_split_to_table(text, '\n') WITH ORDINALITY AS lines(line, nth)
             WHERE line ~ '^[0-9]'
             ORDER BY nth DESC LIMIT 1
        """
        return self.primary.value(query)
