#!/usr/bin/env bash
# usage: DATABASE_URL=postgresql://localhost/mydb worker.sh [queue]
set -euo pipefail

run() {
  while [ -z "$stopping" ]; do
    [ -n "$job" ] || ask "$CLAIM_NEXT" "$CLAIM_NEXT"
    read -r id attempt payload <<<"$job"
    if [ -z "$job" ]; then sleep_until_there_is_work
    elif ! error=$(handle 2>&1 >&3); then ask "$FAIL" "$CLAIM_NEXT"
    elif [ -n "$stopping" ]; then ask "$COMPLETE" "$COMPLETE_AGAIN"
    else ask "$COMPLETE_AND_CLAIM_NEXT" "$COMPLETE_AGAIN"; fi
  done 3>&1
  read -r id attempt payload <<<"$job"
  [ -z "$job" ] || (sql "$RELEASE") # claimed, not started
}

# Stands for your own work: takes so many seconds, and fails on its first so many attempts. What it prints to stderr
# is the error of a run that fails.
handle() {
  local seconds=0 failures=0
  printf 'job %s, attempt %s: %s\n' "$id" "$attempt" "$payload"
  if [[ $payload =~ \"seconds\":\ ([0-9.]+) ]]; then seconds=${BASH_REMATCH[1]}; fi
  if [[ $payload =~ \"failures\":\ ([0-9]+) ]]; then failures=${BASH_REMATCH[1]}; fi
  sleep "$seconds"
  if ((attempt <= failures)); then
    printf 'attempt %s was told to fail\n' "$attempt" >&2
    return 1
  fi
}

# Values reach the statements as psql variables only.
readonly CLAIM_NEXT="SELECT id, attempt, payload FROM turnstile.claim_next(:'queue')"
readonly COMPLETE_AND_CLAIM_NEXT="SELECT id, attempt, payload FROM turnstile.complete_and_claim_next(:id, :attempt)"
readonly COMPLETE="SELECT FROM turnstile.complete(:id, :attempt)"
readonly COMPLETE_AGAIN="SELECT FROM turnstile.complete_many(ARRAY[:id]::bigint[], ARRAY[:attempt]::int[])"
readonly FAIL="SELECT FROM turnstile.fail(:id, :attempt, :'error')"
readonly RELEASE="SELECT FROM turnstile.release(:id, :attempt)"
readonly WAIT="CALL turnstile.wait_for_job(ARRAY[:'queue'], '1 minute')"

# Sets job to what the statement returns. Where the connection is lost (psql ends with 2) the second one follows, on
# whichever of the hosts is the primary then: it leaves alone what was completed, and what was claimed comes back.
ask() {
  local status=0 pause=1
  job=$(sql "$1") || status=$?
  while [ "$status" = 2 ]; do
    sleep "$pause"
    pause=$((pause < 3 ? 2 * pause : 5))
    [ -z "$stopping" ] || [ "$2" != "$CLAIM_NEXT" ] || exit 0 # no run is left to complete
    status=0
    job=$(sql "$2") || status=$?
  done
  [ "$status" = 0 ] || exit "$status"
}

# Takes the place of the subshell that it is called in, so that a signal to that reaches psql.
sql() {
  exec psql --no-psqlrc --quiet --no-align --tuples-only --field-separator ' ' --set ON_ERROR_STOP=1 \
    --set queue="$queue" --set id="$id" --set attempt="$attempt" --set error="${error:0:4000}" "$DATABASE_URL" <<<"$1"
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

queue=${1:-default} job='' id='' attempt='' payload='' error='' stopping=''
trap 'stopping=yes' TERM
run
