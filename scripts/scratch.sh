# shellcheck shell=bash disable=SC2034
# Sourced by scripts/test-all: a place for the clusters of one run, in memory where there is room, which goes with the run.

SCRATCH_PREFIX=turnstile-tests
# Several times what two parts at a time write, and as much again for the servers themselves and for compilers.
SCRATCH_KB=$((3 * 1024 * 1024))
MEMORY_KB=$((6 * 1024 * 1024))

# Kilobytes that may still be used: by the machine, and by the control group where it has a limit.
available_memory() {
  local free limit used
  free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  used=$(cat /sys/fs/cgroup/memory.current 2>/dev/null || true)
  if [[ $limit =~ ^[0-9]+$ && $used =~ ^[0-9]+$ ]] && [ $(((limit - used) / 1024)) -lt "$free" ]; then
    free=$(((limit - used) / 1024))
  fi
  say "$free"
}

# Databases are made and dropped by the thousand, which costs a disk far more than memory. Nothing is lost for the
# tests of crashes: what a server that was killed had written is in the kernel's hands either way.
scratch_base() {
  local base=/dev/shm
  if [ -n "${TURNSTILE_SCRATCH:-}" ]; then
    say "$TURNSTILE_SCRATCH"
  elif [ -w "$base" ] && [ "$(df --output=avail -k "$base" | tail -n 1)" -ge "$SCRATCH_KB" ] &&
    [ "$(available_memory)" -ge "$MEMORY_KB" ]; then
    say "$base"
  else
    say "$ROOT/target/clusters"
  fi
}

# The lock goes with the process that holds it, so what is not locked is left over from a run that was killed.
make_scratch() {
  local base left
  base=$(scratch_base)
  mkdir -p "$base"
  exec 7<"$base"
  flock 7
  while IFS= read -r left; do
    exec 8<"$left"
    ! flock --nonblock 8 || remove_scratch "$left"
    exec 8<&-
  done < <(find "$base" -mindepth 1 -maxdepth 1 -type d -name "$SCRATCH_PREFIX.*" -user "$(id -u)")
  SCRATCH=$(mktemp -d "$base/$SCRATCH_PREFIX.XXXXXX")
  chmod 755 "$SCRATCH"
  exec 8<"$SCRATCH"
  flock 8
  exec 7<&-
}

# usage: destroy_clusters DIRECTORY     one that was given as TURNSTILE_CLUSTERS
destroy_clusters() {
  local lock name mounted
  for lock in "$1"/*.lock; do
    [ -e "$lock" ] || continue
    name=${lock##*/}
    TURNSTILE_CLUSTERS=$1 "$ROOT/scripts/cluster" destroy "${name%.lock}" 8<&-
  done
  while IFS= read -r mounted; do
    as_root umount --lazy "$mounted"
  done < <(awk -v below="$1/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts)
  rm -rf "$1"
}

remove_scratch() {
  local clusters
  for clusters in "$1"/*/; do
    [ ! -d "$clusters" ] || destroy_clusters "${clusters%/}"
  done
  rm -rf "$1"
}
