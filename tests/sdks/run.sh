#!/usr/bin/env bash
# The official Python and Node SDKs as judges of what the gateway records and replays. Needs the recordings of real
# traffic (`VCR_REAL_TRAFFIC`), python3 with venv, node 20 with npm, and their registries for the pinned packages.
set -euo pipefail
# Nothing is written beside the sources.
export PYTHONDONTWRITEBYTECODE=1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here/../.."
export VCR_REAL_TRAFFIC="${VCR_REAL_TRAFFIC:-$root/../shared/real-traffic}"
export NO_PROXY="${NO_PROXY:+$NO_PROXY,}127.0.0.1" no_proxy="${no_proxy:+$no_proxy,}127.0.0.1"
# A key or an address of the developer's must not lead an SDK elsewhere.
unset OPENAI_BASE_URL OPENAI_ORG_ID OPENAI_PROJECT_ID ANTHROPIC_BASE_URL ANTHROPIC_AUTH_TOKEN OLLAMA_HOST \
    OLLAMA_API_KEY GOOGLE_GENAI_USE_VERTEXAI GOOGLE_API_KEY GEMINI_API_KEY GOOGLE_GEMINI_BASE_URL

# Packages live in the target directory: nothing is written beside the sources.
work="${CARGO_TARGET_DIR:-$root/target}/sdks"
mkdir -p "$work/node"
work="$(cd "$work" && pwd)"

if ! cmp -s "$here/requirements.txt" "$work/venv/requirements.txt"; then
    python3 -m venv --clear "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/venv/"
fi
if ! cmp -s "$here/package-lock.json" "$work/node/installed"; then
    cp "$here/package.json" "$here/package-lock.json" "$work/node/"
    npm ci --prefix "$work/node" --ignore-scripts --no-audit --no-fund --loglevel=error
    cp "$here/package-lock.json" "$work/node/installed"
fi
# Node looks for packages beside the script.
cp "$here/judge.mjs" "$work/node/"

verdict=0
"$here/traffic.sh" "$work" || verdict=$?
"$here/aimock.sh" "$work" || verdict=$?
"$here/daemon.sh" "$work" || verdict=$?
exit "$verdict"
