#!/usr/bin/env bash
# An upstream that we did not write: the official SDKs ask aimock, directly and through the recording gateway, and then,
# with aimock stopped, what was recorded. `run.sh` starts it, with the directory of the installed packages.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$1"
python="$work/venv/bin/python"
cp "$here/aimock/serve.mjs" "$work/node/"
"$python" "$here/aimock/asks.py" "$here/aimock/fixtures.json" "$work/asks.json"

coproc AIMOCK { exec node "$work/node/serve.mjs" "$here/aimock/fixtures.json" 2>"$work/aimock.log"; }
aimock=$AIMOCK_PID
exec {mock_out}<&"${AIMOCK[0]}" {mock_in}>&"${AIMOCK[1]}" {AIMOCK[0]}<&- {AIMOCK[1]}>&-
read -r origin <&"$mock_out" || { cat "$work/aimock.log" >&2; echo "aimock did not start" >&2; exit 1; }

# The recorder must not hold aimock's input open.
coproc RECORDER { exec {mock_in}>&- {mock_out}<&-; exec cargo run --quiet --locked --manifest-path "$here/../../Cargo.toml" \
    --package vcr-tests --example recorder -- "$origin" "$work/asks.json" "$work/asked.json"; }
recorder=$RECORDER_PID
exec {out}<&"${RECORDER[0]}" {in}>&"${RECORDER[1]}"

ready() {
    local line
    while read -r line <&"$out"; do
        [[ $line == ready ]] && return
        echo "$line"
    done
    echo "the recorder ended early" >&2
    exit 1
}

ask() {
    timeout 300 "$python" "$here/judge.py" "$work/asked.json" "$work/python-$1.json" &
    local judge=$!
    timeout 300 node "$work/node/judge.mjs" "$work/asked.json" "$work/node-$1.json"
    wait "$judge"
}

ready
ask recorded
exec {mock_in}>&-
wait "$aimock"

echo replay >&"$in"
ready
ask replayed
exec {in}>&- {RECORDER[1]}>&-
verdict=0
cat <&"$out"
wait "$recorder" || verdict=$?
"$python" "$here/aimock/verdict.py" "$work/asked.json" "$here/aimock/departures.json" \
    "python=$work/python-recorded.json" "python=$work/python-replayed.json" \
    "node=$work/node-recorded.json" "node=$work/node-replayed.json" || verdict=$?
exit "$verdict"
