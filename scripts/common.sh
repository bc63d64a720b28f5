# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: where things are, and how to run them.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The PostgreSQL that is wanted; what is really used is found by find_pg.
PG_MAJOR=${PG_MAJOR:-15}
PG_BASE=/usr/lib/postgresql

# A backtrace of every Rust error would end up in DETAIL and in the server log.
unset RUST_BACKTRACE RUST_LIB_BACKTRACE

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$@"
  exit 1
}

turnstile_version() { sed -n '/^\[package\]/,/^\[features\]/s/^version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml"; }

is_root() { [ "$(id -u)" -eq 0 ]; }

# The pg_config of a server that the distribution has, or that scripts/server has made available.
server_config() {
  local config
  for config in "$PG_BASE/$1/bin/pg_config" "$ROOT/target/servers/$1/bin/pg_config"; do
    if [ -x "$config" ]; then
      say "$config"
      return
    fi
  done
  die "PostgreSQL $1 is not there; run: scripts/server $1"
}

# usage: use_pg_config FILE      pgrx knows one server of each version, so those of others than the distribution have theirs
use_pg_config() {
  PG_CONFIG=$1
  PG_BIN=$("$PG_CONFIG" --bindir)
  PG_MAJOR=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
  PG_LABEL=$PG_MAJOR
  [[ $("$PG_CONFIG" --configure) != *--enable-cassert* ]] || PG_LABEL+=-assert
  if [[ $PG_CONFIG != "$PG_BASE"/* ]]; then
    export PGRX_HOME=$ROOT/target/pgrx/$PG_LABEL
    mkdir -p "$PGRX_HOME"
  fi
}

# Sets PG_CONFIG, PG_BIN, PG_MAJOR, and PG_LABEL, which tells servers of the same version apart. TURNSTILE_PG_CONFIG names the
# pg_config of any server, TURNSTILE_SERVER one of scripts/server. Else it is PG_MAJOR if that is installed, or the newest that is.
find_pg() {
  local newest
  if [ -n "${TURNSTILE_PG_CONFIG:-}" ]; then
    use_pg_config "$TURNSTILE_PG_CONFIG"
  elif [ -n "${TURNSTILE_SERVER:-}" ]; then
    PG_CONFIG=$(server_config "$TURNSTILE_SERVER") || exit
    use_pg_config "$PG_CONFIG"
  else
    if [ ! -x "$PG_BASE/$PG_MAJOR/bin/pg_config" ]; then
      newest=$(installed_pg_majors | tail -n 1)
      [ -n "$newest" ] || return 1
      PG_MAJOR=$newest
    fi
    use_pg_config "$PG_BASE/$PG_MAJOR/bin/pg_config"
  fi
}

installed_pg_majors() {
  local config
  for config in "$PG_BASE"/*/bin/pg_config; do
    [ -x "$config" ] || continue
    config=${config#"$PG_BASE"/}
    say "${config%%/*}"
  done | sort -n
}

need_pg() { find_pg || die "PostgreSQL is not installed; run: make setup"; }

pgrx_knows_server() {
  local known
  known=$(sed -n "s/^pg$PG_MAJOR = \"\(.*\)\"/\1/p" "${PGRX_HOME:-$HOME/.pgrx}/config.toml" 2>/dev/null) || return 1
  [ -n "$known" ] && [ "$("$known" --version 2>/dev/null)" = "$("$PG_CONFIG" --version)" ]
}

# Tells pgrx where the server is. It needs no cluster of its own, hence --no-run.
tell_pgrx() {
  pgrx_knows_server || cargo pgrx init "--pg$PG_MAJOR" "$PG_CONFIG" --no-run >&2
}

# The server refuses to run as root.
as_server() {
  if is_root; then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

as_root() {
  if is_root; then
    "$@"
  else
    sudo "$@"
  fi
}

# The server's directories belong to root; what is below DESTDIR belongs to who asks for it.
as_owner() {
  if [ -n "${DESTDIR:-}" ]; then
    "$@"
  else
    as_root "$@"
  fi
}

# ---- Tests ----------------------------------------------------------------------------------------

VENV=${VENV:-$ROOT/target/venv}
TEST_CLUSTER=${TURNSTILE_CLUSTER:-test}

# Without prepared transactions the server itself refuses PREPARE, before the extension is asked.
# TURNSTILE_SETTINGS adds some, as words of the form setting=value.
read -ra MORE_SETTINGS <<<"${TURNSTILE_SETTINGS:-}"
TEST_SETTINGS=(fsync=off max_connections=300 max_prepared_transactions=20 "${MORE_SETTINGS[@]}")

# With TURNSTILE_FEATURES it has a build of its own; the one that is installed stays as it is.
use_test_cluster() {
  local address
  if [ -n "${TURNSTILE_FEATURES:-}" ]; then
    TURNSTILE_LIBRARY=$("$ROOT/scripts/install" --library)
    export TURNSTILE_LIBRARY
    unset TURNSTILE_FEATURES
  fi
  "$ROOT/scripts/cluster" start "$TEST_CLUSTER" "${TEST_SETTINGS[@]}"
  address=$("$ROOT/scripts/cluster" env "$TEST_CLUSTER")
  eval "$address"
}
