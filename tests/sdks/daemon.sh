#!/usr/bin/env bash
# `cargo vcr serve` driven by curl and by OpenAI's own SDKs for Python and Node: each records eight calls at a time, unary
# and streamed, then replays them with the provider gone. `daemon.sh WORK`; run.sh installs the SDKs there.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here/../.."
work="$1"
for name in $(compgen -e); do
    case $name in VCR_* | CI) unset "$name" ;; esac
done

cargo build --quiet --locked --manifest-path "$root/Cargo.toml" --package cargo-vcr
vcr="${CARGO_TARGET_DIR:-$root/target}/debug/cargo-vcr"
cp "$here/daemon.mjs" "$work/node/"
project="$(mktemp -d)"
provider='' daemon=''
stop() {
    for process in $provider $daemon; do kill "$process" 2>/dev/null || true; done
    # It may still be saving.
    wait || true
    rm -rf "$project"
}
trap stop EXIT

# serve NAME [ARGUMENT…]: starts a daemon; its address is in `url`.
serve() {
    mkfifo "$project/$1"
    "$vcr" vcr serve --listen 127.0.0.1:0 --root "$project" --idle 600 --log warn "${@:2}" >"$project/$1" &
    daemon=$!
    read -r url <"$project/$1"
}
# A daemon that is told to stop saves, and says that all is well.
end() {
    kill -TERM "$daemon"
    wait "$daemon"
    daemon=''
}

mkfifo "$project/port"
python3 "$here/upstream.py" >"$project/port" &
provider=$!
read -r port <"$project/port"
printf '[upstreams]\nllama_server = "http://127.0.0.1:%s/v1"\n' "$port" >"$project/vcr.toml"

# The two calls of the documentation, word for word but for the port.
record() {
    curl --silent --show-error --fail -X POST "$url/v1/chat/completions" -H "Content-Type: application/json" -d '{
    "model": "llama_server/gemma-3-1b-it-Q4_K_M.gguf",
    "messages": [{"role": "user", "content": "Give me a 3-word motto."}],
    "vcr": "record",
    "vcr_scenario": "gateway_smoke_test"
  }'
}
replay() {
    curl --silent --show-error --fail -X POST "$url/v1/chat/completions" -H "Content-Type: application/json" -d '{
    "model": "llama_server/gemma-3-1b-it-Q4_K_M.gguf",
    "messages": [{"role": "user", "content": "Give me a 3-word motto."}],
    "vcr": "replay",
    "vcr_scenario": "gateway_smoke_test",
    "vcr_speed": "max"
  }'
}
python=("$work/venv/bin/python" "$here/daemon.py")
node=(node "$work/node/daemon.mjs")

serve record --upstream "http://127.0.0.1:$port/v1"
timeout 120 "${python[@]}" "$url" record >"$project/python.record"
timeout 120 "${node[@]}" "$url" record >"$project/node.record"
end
serve both
record >"$project/curl.record"
asked="$(curl --silent "http://127.0.0.1:$port/count")"
[[ $asked == '{"count":17}' ]] || { echo "the provider was asked otherwise: $asked" >&2; exit 1; }
kill "$provider"
replay >"$project/curl.replay"
end
cmp "$project/curl.record" "$project/curl.replay"
test -s "$project/fixtures/fixture_unknown_invoker_gateway_smoke_test.json"

serve replay
timeout 120 "${python[@]}" "$url" replay >"$project/python.replay"
timeout 120 "${node[@]}" "$url" replay >"$project/node.replay"
end
for sdk in python node; do
    cmp "$project/$sdk.record" "$project/$sdk.replay"
done
echo "curl, Python and Node: 17 calls recorded, the same ones replayed without the provider"
