"""A claim finds where its lane goes on, however far behind that is, and passes nothing on its way."""

import pytest

from support.calls import claim, enqueue, ids

# At and around the ends of the ranges of a claim of one job (17 wide, 64 times as wide, and so once more), and beyond all of them.
DISTANCES = [1, 16, 17, 18, 1104, 1105, 1106, 70_736, 70_737, 2**20, 2**40]


def _enqueue_behind(conn, distance: int, tenant: str) -> int:
    """So far behind the last position."""
    conn.execute("SELECT setval('turnstile.job_position_seq', last_value + %s, false) FROM turnstile.job_position_seq", [distance])
    return enqueue(conn, tenant=tenant)


def _claim(conn, most: int = 1) -> list[int]:
    return ids(claim(conn, ["default"], most))


def _differences(conn) -> list:
    return conn.execute("SELECT * FROM turnstile.check()").fetchall()


@pytest.mark.parametrize("tenants", [["a"], ["a", "b"]], ids=["alone", "beside another lane"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_one_after_the_other(conn, distance, tenants):
    jobs = []
    for _ in range(3):
        jobs.append(_enqueue_behind(conn, distance, tenants[0]))
        jobs += [_enqueue_behind(conn, 1, tenant) for tenant in tenants[1:]]
    for job in jobs:
        assert _claim(conn) == [job]
        assert _differences(conn) == []
    assert _claim(conn) == []


@pytest.mark.parametrize("distance", DISTANCES)
def test_many_at_once(conn, distance):
    jobs = [_enqueue_behind(conn, distance, "a") for _ in range(5)]
    assert _claim(conn, 3) == jobs[:3]
    assert _claim(conn, 100) == jobs[3:]
    assert _differences(conn) == []


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_behind_jobs_that_another_transaction_has(conn, other, distance, end):
    """A claim that is undone gives back jobs that lie before what others have taken meanwhile."""
    jobs = [_enqueue_behind(conn, distance, "a") for _ in range(6)]
    beside = _enqueue_behind(conn, 1, "b")
    conn.execute("BEGIN")
    assert _claim(conn, 5) == jobs[:5]
    assert _claim(other) == jobs[5:]
    assert _claim(other) == [beside]
    assert _claim(other) == []
    conn.execute(end)
    assert _claim(other, 100) == (jobs[:5] if end == "ROLLBACK" else [])
    assert _differences(other) == []
