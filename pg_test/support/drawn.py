"""Ids and positions of jobs, and whether the server draws them ahead."""

from support.calls import enqueue, enqueue_times

# So many jobs in a row make the server draw ahead.
A_ROW = 40
SEQUENCES = {"id": "turnstile.job_id_seq", "position": "turnstile.job_position_seq"}


def place(conn, job_id: int) -> tuple[int, int]:
    """The id and the position of a live job."""
    return conn.execute("SELECT id, position FROM turnstile.job WHERE id = %s", [job_id]).fetchone()


def places(conn, job_ids) -> list[tuple[int, int]]:
    return [place(conn, job_id) for job_id in job_ids]


def drawn(conn) -> tuple[int, int]:
    """How far the two sequences are."""
    return tuple(conn.execute(f"SELECT last_value FROM {sequence}").fetchone()[0] for sequence in SEQUENCES.values())


def draw_ahead(conn) -> int:
    """Enqueues until ids and positions are drawn ahead; returns the last job."""
    last = enqueue_times(conn, A_ROW)[-1]
    at = place(conn, last)
    assert all(end > number for number, end in zip(at, drawn(conn), strict=True)), f"nothing is drawn ahead: {at}, {drawn(conn)}"
    return last


def next_place(conn) -> tuple[int, int]:
    return place(conn, enqueue(conn))


def grows(found) -> bool:
    """Whether ids and positions both grow from each job to the next."""
    return all(a < b for column in zip(*found, strict=True) for a, b in zip(column, column[1:]))
