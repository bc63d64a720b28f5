#!/usr/bin/env bash
# Works a queue off with one psql that stays open: measures the file that each job names.
# Values reach SQL as psql variables only; answers come back ended by zero bytes, which no path contains.
set -euo pipefail
export LC_ALL=C PGCLIENTENCODING=UTF8

readonly queue=$1 worker=$2 style=$3
readonly PAUSE_WHEN_IDLE=0.1

coproc database {
  exec psql --no-psqlrc --quiet --no-align --tuples-only \
    --field-separator-zero --record-separator-zero \
    --set ON_ERROR_STOP=1 --set "queue=$queue" --set "worker=$worker"
}
exec {answers}<&"${database[0]}" {statements}>&"${database[1]}"

# The outer join answers with one row always: an empty one if there is no job.
readonly CLAIM_NEXT="
SELECT c.id, c.attempt, c.payload->>'path'
FROM (SELECT) AS always
LEFT JOIN turnstile.claim_next(queue => :'queue', worker => :'worker') AS c ON true;"

readonly CLAIM_ONE="
SELECT c.id, c.attempt, c.payload->>'path'
FROM (SELECT) AS always
LEFT JOIN turnstile.claim(queues => ARRAY[:'queue'], max_jobs => 1, worker => :'worker') AS c ON true;"

readonly COMPLETE_AND_CLAIM_NEXT="
SELECT c.id, c.attempt, c.payload->>'path'
FROM (SELECT) AS always
LEFT JOIN turnstile.complete_and_claim_next(
  :'id'::bigint, :'attempt'::int, result => :'result'::jsonb, worker => :'worker') AS c ON true;"

readonly COMPLETE="SELECT turnstile.complete(:'id'::bigint, :'attempt'::int, result => :'result'::jsonb);"

readonly DISCARD="SELECT turnstile.fail(:'id'::bigint, :'attempt'::int, error => :'error', discard => true);"

readonly HAS_JOBS="SELECT EXISTS (SELECT FROM turnstile.job WHERE queue = :'queue');"

send() { printf '%s\n' "$1" >&"$statements"; }

receive() { IFS= read -r -d '' "$1" <&"$answers"; }

set_variable() {
  local value=${2//\\/\\\\}
  value=${value//\'/\\\'}
  value=${value//$'\n'/\\n}
  value=${value//$'\r'/\\r}
  send "\\set $1 '$value'"
}

id='' attempt='' path='' answer=''

receive_job() {
  receive id
  receive attempt
  receive path
}

claim() {
  if [[ $style == two-calls ]]; then
    send "$CLAIM_ONE"
  else
    send "$CLAIM_NEXT"
  fi
  receive_job
}

name_job() {
  set_variable id "$id"
  set_variable attempt "$attempt"
}

complete_and_claim() {
  name_job
  set_variable result "$result"
  if [[ $style == two-calls ]]; then
    send "$COMPLETE"
    receive answer
    claim
  else
    send "$COMPLETE_AND_CLAIM_NEXT"
    receive_job
  fi
}

discard() {
  name_job
  set_variable error "$error"
  send "$DISCARD"
  receive answer
}

drained() {
  send "$HAS_JOBS"
  receive answer
  [[ $answer == f ]]
}

# Sets result, or error if the file cannot be read.
measure() {
  local counts digest lines size
  if [[ -e $path && ! -f $path ]]; then
    error="not a regular file: $path"
    return 1
  fi
  counts=$({ wc -l -c <"$path"; } 2>&1) || {
    error=${counts#*: line *: }
    return 1
  }
  digest=$({ sha256sum <"$path"; } 2>&1) || {
    error=${digest#*: line *: }
    return 1
  }
  read -r lines size <<<"$counts"
  printf -v result '{"size": %d, "lines": %d, "sha256": "%s"}' "$size" "$lines" "${digest%% *}"
}

claim
while true; do
  if [[ -z $id ]]; then
    if drained; then
      break
    fi
    sleep "$PAUSE_WHEN_IDLE"
    claim
  elif measure; then
    complete_and_claim
  else
    discard
    claim
  fi
done
send '\quit'
