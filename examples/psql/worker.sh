#!/usr/bin/env bash
# usage: DATABASE_URL=postgresql://localhost/mydb worker.sh [queue …]
# A script that sources it calls `run` after it has defined a `handle` of its own.
set -euo pipefail

run() {
  while [ -z "$stopping" ]; do
    [ -n "$job" ] || ask "$CLAIM" "$CLAIM"
    IFS=$'\t' read -r id attempt kind payload <<<"$job"
    if [ -z "$job" ]; then sleep_until_there_is_work
    elif ! error=$(handle 2>&1 >&3 | as_text); then ask "$FAIL" "$FAIL"
    elif [ -n "$stopping" ]; then ask "$COMPLETE" "$COMPLETE"
    else ask "$COMPLETE_AND_CLAIM" "$COMPLETE"; fi
  done 3>&1
  IFS=$'\t' read -r id attempt kind payload <<<"$job"
  [ -z "$job" ] || (sql "$RELEASE") # claimed, not started
}

# Stands for your own work: takes so many seconds, and fails on its first so many attempts. What it prints to stderr
# is the error of a run that fails.
handle() {
  local seconds=0 failures=0
  printf 'job %s, attempt %s: %s %s\n' "$id" "$attempt" "$kind" "$payload"
  if [[ $payload =~ \"seconds\":\ ([0-9.]+) ]]; then seconds=${BASH_REMATCH[1]}; fi
  if [[ $payload =~ \"failures\":\ ([0-9]+) ]]; then failures=${BASH_REMATCH[1]}; fi
  sleep "$seconds"
  if ((attempt <= failures)); then
    printf 'attempt %s was told to fail\n' "$attempt" >&2
    return 1
  fi
}

# Values reach the statements as psql variables only. Those that end a run leave alone one that has ended or was lost.
readonly RUN="ARRAY[:id]::bigint[], ARRAY[:attempt]::int[]"
readonly QUEUES="string_to_array(:'queues', E'\n')"
readonly OPTIONS="1, nullif(:'name', ''), nullif(:'lease', '')::interval"
readonly CLAIM="SELECT id, attempt, kind, payload FROM turnstile.claim($QUEUES, $OPTIONS)"
readonly COMPLETE_AND_CLAIM="SELECT id, attempt, kind, payload FROM turnstile.complete_and_claim($RUN, $QUEUES, $OPTIONS)"
readonly COMPLETE="SELECT FROM turnstile.complete_many($RUN)"
readonly FAIL="SELECT FROM turnstile.fail_many($RUN, ARRAY[:'error'])"
readonly RELEASE="SELECT FROM turnstile.release(:id, :attempt)"
readonly WAIT="CALL turnstile.wait_for_job($QUEUES, '1 minute')"

# Sets job to what the statement returns. Where the connection is lost (psql ends with 2) the second one follows, on
# whichever of the hosts is the primary then. What was claimed without an answer comes back when its lease is over.
ask() {
  local status=0 pause=1
  job=$(sql "$1") || status=$?
  while [ "$status" = 2 ]; do
    sleep "$pause"
    pause=$((pause < 3 ? 2 * pause : 5))
    [ -z "$stopping" ] || [ "$2" != "$CLAIM" ] || exit 0 # there is no run to end
    status=0
    job=$(sql "$2") || status=$?
  done
  [ "$status" = 0 ] || exit "$status"
}

# Takes the place of the subshell that it is called in, so that a signal to that reaches psql.
sql() {
  exec psql --no-psqlrc --quiet --no-align --tuples-only --field-separator $'\t' --set ON_ERROR_STOP=1 \
    --set queues="$queues" --set name="$name" --set lease="$lease" --set id="$id" --set attempt="$attempt" \
    --set error="$error" "$DATABASE_URL" <<<"$1"
}

# No more than the server keeps, and no bytes that it refuses.
as_text() {
  { head -c 4000 && cat >/dev/null; } | tr -d '\0' | iconv -c -f UTF-8 -t UTF-8 || true
}

# At work SIGTERM lets the job in hand end. Who sleeps holds no job, and goes at once.
sleep_until_there_is_work() {
  trap 'kill $(jobs -p) 2>/dev/null || true; exit 0' TERM
  if [ -z "$stopping" ]; then
    sql "$WAIT" &
    wait $! || [ $? = 2 ]
  fi
  trap 'stopping=yes' TERM
}

queues=$(printf '%s\n' "${@:-default}") name='' lease=''
job='' id='' attempt='' kind='' payload='' error='' stopping=''
trap 'stopping=yes' TERM
[ "${BASH_SOURCE[0]}" != "$0" ] || run
