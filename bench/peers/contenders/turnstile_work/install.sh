set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../.."
cargo build --quiet --release --package turnstile-cli --package turnstile-client --bins --examples
