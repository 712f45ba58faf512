"""The official Python SDK of OpenAI against a daemon: `daemon.py URL MODE` asks eight things at a time and prints what
came of them. The SDK takes no members it does not know but by `extra_body`, and headers by `extra_headers`: half of the calls
steer the daemon this way and half the other."""

import concurrent.futures
import json
import sys
import urllib.request

import openai

URL, MODE = sys.argv[1:]
CLIENT = openai.OpenAI(api_key="not-a-real-key", base_url=f"{URL}/v1")
SCENARIO = "python_sdk"


def steer(index: int) -> dict:
    if index % 2:
        return {"extra_headers": {"x-vcr-mode": MODE, "x-vcr-scenario": SCENARIO}}
    return {"extra_body": {"vcr": MODE, "vcr_scenario": SCENARIO}}


def ask(index: int) -> object:
    messages = [{"role": "user", "content": f"number {index}"}]
    if index == 7:
        return CLIENT.embeddings.create(model="e", input="seven", **steer(index)).model_dump(exclude_unset=True)
    if index % 4 < 2:
        answer = CLIENT.chat.completions.create(model="m", messages=messages, **steer(index))
        return answer.model_dump(exclude_unset=True)
    stream = CLIENT.chat.completions.create(model="m", messages=messages, stream=True, **steer(index))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == f"You said number {index} ", text
    return text


def finish() -> tuple[int, dict]:
    request = urllib.request.Request(f"{URL}/__vcr/finish", method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    results = list(pool.map(ask, range(8)))
status, told = finish()
assert status == 200 and len(told["finished"]) == 1, told
assert told["finished"][0]["replayed" if MODE == "replay" else "recorded"] == 8, told

if MODE == "replay":
    # Nothing answers this, and the SDK does not try again although it does so after other conflicts.
    try:
        CLIENT.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}], **steer(0))
        raise SystemExit("a request that was never recorded was answered")
    except openai.ConflictError as error:
        assert error.code == "vcr_replay_miss", error
        assert "messages[0].content" in error.message, error
    status, told = finish()
    assert status == 409 and told["error"]["code"] == "vcr_verdict", told
    assert "more had no answer" not in told["error"]["message"], told
    assert [model.id for model in CLIENT.models.list(**steer(1))] == ["e", "m"]
print(json.dumps(results))
