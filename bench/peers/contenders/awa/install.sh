set -euo pipefail
url="postgresql:///$PGDATABASE?host=$PGHOST&port=$PGPORT&user=$PGUSER"
"$PEERS/venv/bin/python" -m awa --database-url "$url" migrate >/dev/null
# Its new storage is put to use when a worker first runs.
CONCURRENCY=1 timeout --preserve-status 4 "$PEERS/venv/bin/python" "$(dirname "${BASH_SOURCE[0]}")/worker.py" >/dev/null
