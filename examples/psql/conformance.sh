#!/usr/bin/env bash
# The driver of the conformance suite for worker.sh: clients/README.md says what it prints and what its handlers do.
# usage: conformance.sh --capabilities
#        DATABASE_URL=… conformance.sh --queues a,b [--lease S] [--name W] [OPTION VALUE …]
set -euo pipefail

if [ "${1:-}" = --capabilities ]; then
  echo '["reconnects"]'
  exit
fi

# shellcheck source=examples/psql/worker.sh
source "$(dirname "${BASH_SOURCE[0]}")/worker.sh"

# shellcheck disable=SC2034,SC2154 # They are worker.sh's.
while (($#)); do
  case $1 in
    --queues) queues=${2//,/$'\n'} ;;
    --lease) lease="$2 seconds" ;;
    --name) name=$2 ;;
    *) ;; # It has one run at a time, sends no heartbeats, and waits for that run to end.
  esac
  shift 2
done

# In a subshell, so that it is told how a handler ended that did not return.
handle() {
  local status=0
  printf '{"event":"started","id":"%s","attempt":%s,"kind":"%s"}\n' "$id" "$attempt" "$kind"
  (work) || status=$?
  printf '{"event":"ended","id":"%s","attempt":%s}\n' "$id" "$attempt"
  return "$status"
}

work() {
  case $kind in
    ok | echo) ;;
    sleep) sleep "$(number seconds 0)" ;;
    fail) ((attempt > $(number times 1000000))) || fail_with "$(text error)" ;;
    fail_text) fail_with "$(printf 'odd \xff\xfe \xed\xa0\x80 \x01 end')" ;;
    fail_oddly) kill -KILL "$BASHPID" ;;
    *) fail_with "no handler for jobs of kind $kind" ;;
  esac
}

fail_with() {
  printf '%s\n' "$1" >&2
  exit 1
}

# usage: number MEMBER OTHERWISE
number() {
  if [[ $payload =~ \"$1\":\ ([0-9.]+) ]]; then echo "${BASH_REMATCH[1]}"; else echo "$2"; fi
}

# Bash does not read the strings of JSON; the server does.
text() { sql "SELECT payload->>'$1' FROM turnstile.job WHERE id = :id"; }

echo '{"event":"ready"}'
run
