# shellcheck shell=bash disable=SC2154
# Sourced by pg_test/*/run: what PostgreSQL's own two test drivers have in common.

# usage: run_suite DRIVER DIRECTORY SUBDIRECTORY SUFFIX [--accept] [test …]
#   DRIVER        below pgxs/src/test, e.g. regress/pg_regress
#   SUBDIRECTORY  of DIRECTORY, that holds the tests, which end in SUFFIX
#   --accept      take over the results as the expected output
run_suite() {
  local driver=$1 directory=$2 subdirectory=$3 suffix=$4
  local accept='' status=0 names name output database
  shift 4
  if [ "${1:-}" = --accept ]; then
    accept=yes
    shift
  fi

  need_pg
  driver=$("$PG_CONFIG" --pkglibdir)/pgxs/src/test/$driver
  [ -x "$driver" ] || die "$driver is missing; run: make setup"
  [ $# -gt 0 ] || mapfile -t names < <(test_names "$directory/$subdirectory" "$suffix")
  [ $# -eq 0 ] || names=("$@")
  [ "${#names[@]}" -gt 0 ] || die "no tests in $directory/$subdirectory"

  # Two versions of the server may be tested at the same time.
  output=$ROOT/target/${directory##*/}/${TURNSTILE_SERVER:-default}/$TEST_CLUSTER
  database=turnstile_${directory##*/}_$$
  rm -rf "$output"
  mkdir -p "$output"
  if [ -n "$accept" ]; then
    expect_something "$directory/expected" "${names[@]}"
  fi
  use_test_cluster
  "$driver" --inputdir="$directory" --outputdir="$output" --bindir="$PG_BIN" --dbname="$database" \
    --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --load-extension=turnstile "${names[@]}" || status=$?

  "$PG_BIN/dropdb" --if-exists "$database"

  if [ -n "$accept" ]; then
    for name in "${names[@]}"; do
      cp "$output/results/$name.out" "$directory/expected/$name.out"
    done
    return
  fi
  if [ -s "$output/regression.diffs" ]; then
    cat "$output/regression.diffs"
  fi
  return "$status"
}

# The drivers give up at a test that has no expected output at all.
expect_something() {
  local expected=$1 name
  shift
  mkdir -p "$expected"
  for name in "$@"; do
    [ -e "$expected/$name.out" ] || : >"$expected/$name.out"
  done
}

test_names() {
  local file
  for file in "$1"/*"$2"; do
    [ ! -e "$file" ] || basename "$file" "$2"
  done
}
