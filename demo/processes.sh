# What the demos share: their cluster and their database, and processes that end with them. To be sourced, by a script that has set
# PROGRAM (its own name) and DATABASE.
# shellcheck shell=bash
readonly CLUSTER=demo

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly python=$root/target/venv/bin/python work=$root/target/demo

# Keys are process ids, values are names. Each process leads a group of its own, so that one signal
# reaches what it has started as well, and the terminal's Ctrl-C reaches nobody but the script.
declare -A children=()

spawn() {
  local name=$1
  shift
  setsid -- "$@" &
  children[$!]=$name
}

step() {
  spawn "$@"
  local pid=$! status=0
  wait "$pid" || status=$?
  unset "children[$pid]"
  return "$status"
}

stop_children() {
  local pid
  for pid in "${!children[@]}"; do
    # A process that was started a moment ago may not lead its group yet.
    kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || true
  done
  ((${#children[@]} == 0)) || wait "${!children[@]}" 2>/dev/null || true
  children=()
}

# ---- The dashboard --------------------------------------------------------------------------------

# With SERVE=1, at the port SERVE_PORT, for as long as it is wanted.
readonly SERVE=${SERVE:-} SERVE_PORT=${SERVE_PORT:-8080}
dashboard=

serve_dashboard() {
  setsid -- "$root/target/release/turnstile" serve --listen "127.0.0.1:$SERVE_PORT" --allow-writes 2>"$work/dashboard.log" &
  dashboard=$!
  # It ends at once where the port is taken.
  sleep 1
  kill -0 "$dashboard" 2>/dev/null || {
    cat "$work/dashboard.log" >&2
    exit 1
  }
  tell_dashboard
}

tell_dashboard() { printf 'dashboard: http://localhost:%s\n' "$SERVE_PORT"; }

stop_dashboard() {
  [[ -n $dashboard ]] || return 0
  kill -TERM "$dashboard" 2>/dev/null || true
  wait "$dashboard" 2>/dev/null || true
}

# Until Ctrl-C, which is no failure.
keep_dashboard() {
  [[ -n $dashboard ]] || return 0
  trap 'exit 0' INT
  tell_dashboard
  echo 'Ctrl-C ends it.'
  wait "$dashboard"
}

stop_everything() {
  local status=$?
  trap '' INT TERM HUP
  trap - EXIT
  stop_children
  stop_dashboard
  "$root/scripts/cluster" stop "$CLUSTER" >/dev/null || status=1
  exit "$status"
}

refuse_second_run() {
  mkdir -p "$work"
  exec 8>"$work/lock"
  flock --nonblock 8 || {
    echo "$PROGRAM: another run is under way" >&2
    exit 1
  }
}

# Never interrupted: a server that is halfway up could not be stopped.
start_cluster() {
  setsid -- "$root/scripts/cluster" start "$CLUSTER" 8>&- &
  wait "$!"
  local client_env
  client_env=$("$root/scripts/cluster" env "$CLUSTER")
  eval "$client_env"
}

create_database() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set "database=$DATABASE" <<'SQL'
SET client_min_messages = warning;
DROP DATABASE IF EXISTS :"database" WITH (FORCE);
CREATE DATABASE :"database" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C';
\connect :"database"
CREATE EXTENSION turnstile;
SQL
  export PGDATABASE=$DATABASE
}

# An empty database in a cluster that stops with the script.
begin() {
  refuse_second_run
  trap stop_everything EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
  export PYTHONDONTWRITEBYTECODE=1 PGAPPNAME=demo
  start_cluster
  create_database
  [[ -z $SERVE ]] || serve_dashboard
}
