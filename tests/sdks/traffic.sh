#!/usr/bin/env bash
# The recordings of real traffic, as each of the SDKs reads them. `run.sh` starts it, with the directory of the installed
# packages.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here/../.."
work="$1"

coproc SERVER { exec cargo run --quiet --locked --manifest-path "$root/Cargo.toml" --package vcr-tests \
    --example judge -- "$work/cases.json" 2; }
server=$SERVER_PID
exec {out}<&"${SERVER[0]}" {in}>&"${SERVER[1]}"
read -r ready <&"$out" || { echo "the judge's server did not start" >&2; exit 1; }
[[ $ready == ready ]] || { echo "$ready" >&2; exit 1; }

timeout 300 "$work/venv/bin/python" "$here/judge.py" "$work/cases.json" "$work/python.json"
timeout 300 node "$work/node/judge.mjs" "$work/cases.json" "$work/node.json"

# Every session says now whether all of its calls were asked for, and nothing else.
exec {in}>&- {SERVER[1]}>&-
verdict=0
cat <&"$out"
wait "$server" || verdict=$?
"$work/venv/bin/python" "$here/compare.py" "$work/cases.json" "$here/facts.json" \
    "python=$work/python.json" "node=$work/node.json" || verdict=$?
exit "$verdict"
