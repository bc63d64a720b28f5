"""Token buckets, judged by the server's own times of the claims."""

STARTS = """
    SELECT (extract(epoch FROM claimed_at) * 1000000)::bigint
    FROM turnstile.jobs
    WHERE claimed_at IS NOT NULL AND tenant IS NOT DISTINCT FROM %s
    ORDER BY 1
"""


def starts_of(conn, tenant: str | None) -> list[int]:
    """When the tenant's jobs were claimed, in microseconds."""
    return [row[0] for row in conn.execute(STARTS, [tenant])]


def overfull(starts: list[int], rate: int, per: int, burst: int) -> list[tuple[int, int]]:
    """The windows (starts in it, microseconds) with more starts than the bucket allows; none is longer than 2 per."""
    found = []
    for last, end in enumerate(starts):
        for first in range(last, -1, -1):
            length = end - starts[first]
            if length > 2 * per:
                break
            if last - first + 1 > burst + length * rate // per:
                found.append((last - first + 1, length))
    return found
