set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../../../clients/node"
[ -d node_modules/pg ] || npm ci --silent --ignore-scripts
npm run --silent build
