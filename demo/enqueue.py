"""Makes every file below a folder a job, and gives every tenant its slots."""

import json
import os
import stat
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256

import psycopg
from psycopg.types.json import Json

BATCH = 500
PROGRESS_EVERY = 5.0
NAME_LIMIT = 255
SLOTS_BY_SIZE_RANK = (8, 5, 3, 2, 1)
TOP = "(top)"

LEGAL = ("copyright", "license", "licence", "copying")
TEXT = (".txt", ".text", ".md", ".rst", ".adoc")
TEXT_NAMES = ("readme", "news", "changelog", "authors", "todo")
HTML = (".html", ".htm", ".xhtml")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4", ".lzma")


@dataclass
class Inventory:
    files: list = field(default_factory=list)  # (folder below the top as parts, path, size)
    skipped: Counter = field(default_factory=Counter)


def decoded(raw):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def inventory(top):
    found = Inventory()
    top = os.path.abspath(os.fsencode(top))

    def unreadable(_error):
        found.skipped["folders that cannot be read"] += 1

    for folder, subfolders, names in os.walk(top, onerror=unreadable):
        subfolders.sort()
        for raw in sorted(names):
            add_file(found, top, folder, raw)
    return found


def add_file(found, top, folder, raw):
    full = os.path.join(folder, raw)
    try:
        status = os.lstat(full)
    except OSError:
        found.skipped["files that vanished"] += 1
        return
    path = decoded(full)
    if not stat.S_ISREG(status.st_mode):
        found.skipped["links and special files"] += 1
    elif path is None:
        found.skipped["names that are not UTF-8"] += 1
    else:
        below = os.path.relpath(folder, top).decode("utf-8")
        parts = [] if below == "." else below.split("/")
        found.files.append((parts, path, status.st_size))


def tenant_of(parts):
    if not parts:
        return TOP
    # The name * holds the defaults of all tenants.
    return "(*)" if parts[0] == "*" else parts[0]


def session_of(parts):
    session = "/".join(parts) or "."
    if len(session.encode()) <= NAME_LIMIT:
        return session
    return "sha256:" + sha256(session.encode()).hexdigest()


def priority_of(path):
    name = os.path.basename(path).lower()
    if name.startswith(LEGAL):
        return 0
    if name.endswith(TEXT) or name in TEXT_NAMES:
        return 10
    if name.endswith(HTML):
        return 20
    if name.endswith(COMPRESSED):
        return 30
    return 40


def job_of(parts, path, size):
    return {
        "kind": "measure",
        "tenant": tenant_of(parts),
        "session": session_of(parts),
        "priority": priority_of(path),
        "payload": {"path": path, "size": size},
    }


def slots_by_tenant(jobs):
    sizes = Counter(job["tenant"] for job in jobs)
    ranked = sorted(sizes, key=lambda tenant: (-sizes[tenant], tenant))
    return {
        tenant: SLOTS_BY_SIZE_RANK[rank % len(SLOTS_BY_SIZE_RANK)]
        for rank, tenant in enumerate(ranked)
    }


def set_slots(connection, slots):
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO turnstile.tenant (name, slots) VALUES (%s, %s)", slots.items())


def enqueue(connection, queue, jobs):
    """Yields the batches as (job, id) pairs."""
    for start in range(0, len(jobs), BATCH):
        batch = jobs[start : start + BATCH]
        rows = connection.execute(
            "SELECT id, created FROM turnstile.enqueue_many(%s::jsonb) ORDER BY ord",
            [Json([job | {"queue": queue} for job in batch])],
        ).fetchall()
        if len(rows) != len(batch) or not all(created for _, created in rows):
            sys.exit(f"enqueue_many made {sum(c for _, c in rows)} jobs of {len(batch)}")
        yield list(zip(batch, (job_id for job_id, _ in rows)))


def main():
    queue, top, manifest = sys.argv[1:]
    found = inventory(top)
    if not found.files:
        sys.exit(f"no files below {top!r}")
    for reason, count in found.skipped.items():
        print(f"skipped: {count:,} {reason}")
    jobs = [job_of(*file) for file in found.files]
    slots = slots_by_tenant(jobs)

    started = reported = time.monotonic()
    done = 0
    with psycopg.connect(autocommit=True) as connection, open(manifest, "w") as record:
        set_slots(connection, slots)
        for pairs in enqueue(connection, queue, jobs):
            for job, job_id in pairs:
                record.write(json.dumps({"id": job_id, "path": job["payload"]["path"]}) + "\n")
            done += len(pairs)
            if time.monotonic() - reported >= PROGRESS_EVERY:
                reported = time.monotonic()
                print(f"enqueued {done:,} of {len(jobs):,}", flush=True)
    sessions = len({(job["tenant"], job["session"]) for job in jobs})
    print(
        f"enqueued {done:,} files of {len(slots):,} tenants in {sessions:,} sessions"
        f" within {time.monotonic() - started:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
