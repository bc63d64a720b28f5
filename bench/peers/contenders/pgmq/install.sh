set -euo pipefail
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file "$PEERS/pgmq/pgmq.sql" >/dev/null
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --command "SELECT pgmq.create('bench')" >/dev/null
