from faults.test_overflow import *
def test_dbg(db, conn):
    configure(conn, "concurrency", "*", slots=0)
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, account, session, concurrency_key)"
        " SELECT 'default', 'work', 't' || n, 'a' || n, 's' || n, 'c' || n FROM generate_series(1, 600) n"
    )
    made = [enqueue_times(conn, 1, tenant=f"other-{n}", account="a", session="s")[0] for n in range(30)]
    print(conn.execute("TABLE turnstile.memory").fetchall())
    for n in range(45):
        run = claim_next(conn)
        print(n, run and run.tenant, conn.execute("TABLE turnstile.memory").fetchall()[0][1:])
    print(conn.execute("SELECT tenant, state FROM turnstile.job WHERE tenant like 'other%' and state='available'").fetchall())
    print(conn.execute("SELECT * FROM turnstile.check()").fetchall())
    assert 0
