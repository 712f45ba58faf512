"""The verdict over what the SDKs heard: `compare.py CASES FACTS SDK=RESULTS...`. Prints a table and ends with 1 when the
raw layer differs from the provider's own bytes, rendered frames from the raw layer, or either from a known fact."""

import json
import sys

# What an SDK keeps of the transport: the time of day, and headers that are not on the list of those to keep.
TRANSPORT = {"sdk_http_response", "_request_id"}
# Filler with which providers hide the length of a piece; frames do not hold it.
FILLER = {"obfuscation", "p"}
# Ids of accounts are redacted before anything is stored; no reason phrase is, and the scripted provider has its own.
REPLACED = [
    ("user_PLACEHOLDER1", "[REDACTED]"),
    ("safety-id-PLACEHOLDER2", "[REDACTED]"),
    ('"status":"Scripted"', '"status":"Not Found"'),
]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def tidy(value, without=TRANSPORT):
    """Without these members and those that are null."""
    if isinstance(value, dict):
        members = ((name, member) for name, member in value.items() if member is not None and name not in without)
        return {name: tidy(member, without) for name, member in members}
    if isinstance(value, list):
        return [tidy(member, without) for member in value]
    if isinstance(value, str):
        for old, new in REPLACED:
            value = value.replace(old, new)
    return value


def differences(left, right, path=""):
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted({**left, **right}):
            yield from differences(left.get(name), right.get(name), f"{path}.{name}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right)):
            yield from differences(one, other, f"{path}[{index}]")
    elif left != right or isinstance(left, bool) != isinstance(right, bool):
        yield f"{path or '.'}: {short(left)} became {short(right)}"


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 120 else f"{text[:117]}..."


def fold_chat(chunks):
    """What a caller collects who reads the deltas."""
    whole = {"choices": {}}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            own = whole["choices"].setdefault(str(choice.get("index", 0)), {})
            merge(own, {**choice, **choice.get("delta", {}), "delta": None, "index": None})
        for name, value in chunk.items():
            if name != "choices" and value is not None:
                whole[name] = value
    return whole


def merge(own, more):
    for name, value in more.items():
        if value is None:
            continue
        if name == "tool_calls":
            for call in value:
                calls = own.setdefault(name, {})
                merge(calls.setdefault(str(call.get("index", call.get("id"))), {}), call)
        elif isinstance(value, dict):
            merge(own.setdefault(name, {}), value)
        elif isinstance(value, str) and name in {"content", "reasoning", "reasoning_content", "refusal", "arguments", "text"}:
            own[name] = own.get(name, "") + value
        elif name == "reasoning_details":
            for detail in value:
                merge(own.setdefault(name, {}).setdefault(str(detail.get("index")), {}), {**detail, "index": None})
        elif isinstance(value, list) and isinstance(own.get(name), list):
            own[name] = own[name] + value
        else:
            own[name] = value


def steady(whole):
    """A snapshot without what the SDK's accumulator takes from the number of chunks: some name the role in each,
    which Python joins ("assistantassistant"), Node keeps the last chunk's reasoning alone, and the last chunk's
    fingerprint is taken even where it has none. All are compared as `fold_chat` collects them."""
    whole = tidy(whole, {"system_fingerprint"})
    for choice in whole.get("choices", []) if isinstance(whole, dict) else []:
        for name in ("role", "channel", "reasoning", "reasoning_content", "reasoning_details"):
            choice.get("message", {}).pop(name, None)
    return whole


def fold_events(events):
    """The kinds of events in order, pieces of one text joined."""
    folded, server_tools = [], set()
    for event in events:
        block = event.get("content_block") or {}
        if block.get("type") == "server_tool_use":
            server_tools.add(event["index"])
        if event.get("type") == "ping":
            continue
        event = {name: value for name, value in event.items() if name != "sequence_number"}
        if folded and joins(folded[-1], event):
            join(folded[-1], event)
        else:
            folded.append(json.loads(json.dumps(event)))
    for event in folded:
        # The provider ran it, and its input is kept as a value: spaces in it are not.
        if event.get("index") in server_tools and event["type"] == "content_block_delta":
            event["delta"]["partial_json"] = json.loads(event["delta"]["partial_json"] or "{}")
    return folded


def joins(last, event):
    same = all(last.get(name) == event.get(name) for name in ("type", "index", "item_id", "content_index", "summary_index"))
    kind = isinstance(event.get("delta"), (str, dict)) and event["type"].endswith("delta") and event["type"] != "message_delta"
    return same and kind and type(last["delta"]) is type(event["delta"]) and (
        isinstance(event["delta"], str) or last["delta"].get("type") == event["delta"].get("type")
    )


def join(last, event):
    if isinstance(event["delta"], str):
        last["delta"] += event["delta"]
        return
    for name, value in event["delta"].items():
        if name != "type" and isinstance(value, str):
            last["delta"][name] = last["delta"].get(name, "") + value


def fold_gemini(chunks):
    whole, parts = {}, []
    for chunk in chunks:
        for candidate in chunk.get("candidates", []):
            for part in (candidate.get("content") or {}).get("parts") or []:
                if parts and set(part) == set(parts[-1]) and set(part) <= {"text", "thought"} and "text" in part and part.get("thought") == parts[-1].get("thought"):
                    parts[-1]["text"] += part["text"]
                else:
                    parts.append(dict(part))
            whole.update({name: value for name, value in candidate.items() if name != "content"})
        whole.update({name: value for name, value in chunk.items() if name != "candidates"})
    return {**whole, "parts": [part for part in parts if part != {"text": ""}]}


def fold_ollama(chunks):
    whole = {"message": {}}
    for chunk in chunks:
        for name, value in (chunk.get("message") or {}).items():
            own = whole["message"].get(name)
            joined = name in {"content", "thinking"} or isinstance(value, list)
            whole["message"][name] = own + value if joined and own is not None else value
        # The time is that of the chunk.
        whole.update({name: value for name, value in chunk.items() if name not in {"message", "created_at"}})
    return whole


def fold_generate(chunks):
    folded = fold_ollama([{**chunk, "message": {"content": chunk.get("response", "")}} for chunk in chunks])
    return {**folded, "response": folded.pop("message").get("content")}


FOLD = {
    "chat": fold_chat,
    "responses": fold_events,
    "anthropic": fold_events,
    "gemini": fold_gemini,
    "embeddings": list,
    "ollama": fold_ollama,
    "generate": fold_generate,
}


def facts(sdk, heard):
    """What a test would assert: text, tools, finish reason, tokens, error."""
    whole, values = heard.get("whole") or {}, heard["values"]
    if sdk == "chat":
        message, usage = {}, whole.get("usage") or {}
        if values:
            folded = fold_chat(values)
            choice, usage = folded["choices"].get("0", {}), folded.get("usage") or {}
            message, calls = choice, list(choice.get("tool_calls", {}).values())
        else:
            choice = (whole.get("choices") or [{}])[0]
            message = choice.get("message") or {}
            calls = message.get("tool_calls") or []
        found = {
            "text": message.get("content"),
            "refusal": message.get("refusal"),
            "tools": [[call["function"]["name"], call["function"]["arguments"]] for call in calls],
            "finish": choice.get("finish_reason"),
            "tokens": [usage.get("prompt_tokens"), usage.get("completion_tokens")],
        }
    elif sdk == "responses":
        items, usage = whole.get("output") or [], whole.get("usage") or {}
        texts = [part.get("text") for item in items if item["type"] == "message" for part in item["content"]]
        found = {
            "text": "".join(texts),
            "tools": [[item["name"], item["arguments"]] for item in items if item["type"] == "function_call"],
            "finish": (whole.get("incomplete_details") or {}).get("reason") or whole.get("status"),
            "tokens": [usage.get("input_tokens"), usage.get("output_tokens")],
        }
    elif sdk == "embeddings":
        found = {
            "vectors": [item["embedding"] for item in whole.get("data") or []],
            "tokens": [(whole.get("usage") or {}).get("prompt_tokens"), None],
        }
    elif sdk == "anthropic":
        items, usage = whole.get("content") or [], whole.get("usage") or {}
        found = {
            "text": "".join(item["text"] for item in items if item["type"] == "text"),
            "thinking": "".join(item["thinking"] for item in items if item["type"] == "thinking"),
            "tools": [[item["name"], item["input"]] for item in items if item["type"].endswith("tool_use")],
            "finish": whole.get("stop_reason"),
            "tokens": [usage.get("input_tokens"), usage.get("output_tokens")],
        }
    elif sdk == "gemini":
        folded = fold_gemini(tidy(values or [whole]))
        usage = folded.get("usage_metadata") or folded.get("usageMetadata") or {}
        parts = folded["parts"]
        calls = [part.get("function_call") or part.get("functionCall") for part in parts]
        found = {
            "text": "".join(part.get("text", "") for part in parts if not part.get("thought")),
            "tools": [[call["name"], call.get("args")] for call in calls if call],
            "finish": folded.get("finish_reason") or folded.get("finishReason"),
            "tokens": [
                usage.get("prompt_token_count", usage.get("promptTokenCount")),
                usage.get("candidates_token_count", usage.get("candidatesTokenCount")),
            ],
        }
    else:
        folded = FOLD[sdk](values or [whole])
        message = folded.get("message") or {"content": folded.get("response")}
        found = {
            "text": message.get("content"),
            "tools": [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or []],
            "finish": folded.get("done_reason"),
            "tokens": [folded.get("prompt_eval_count"), folded.get("eval_count")],
        }
    if found["tokens"] == [None, None]:
        del found["tokens"]
    error = heard.get("error")
    found["error"] = error and [error["class"], error.get("status")]
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def judge(case, heard, known):
    """Faults, and whether frames gave the very chunks of the raw layer."""
    origin, raw, frames = (tidy(heard[layer]) for layer in ("origin", "raw", "frames"))
    faults = [] if case["raw_kept"] else ["raw: there is no raw layer"]
    faults += ["frames: there is a raw layer"] if case["frames_kept"] else []
    faults += [f"raw: {line}" for line in differences(origin, raw)]
    same = raw["values"] == frames["values"]
    faults += [f"frames: {line}" for line in differences(*(collected(case["sdk"], one) for one in (raw, frames)))]
    found = facts(case["sdk"], tidy(frames, FILLER))
    for name, value in known.items():
        faults += [f"fact: {line}" for line in differences(value, found.get(name), f".{name}")]
    if not (set(found) - {"tokens"}):
        faults.append("nothing was heard")
    return faults, same, found


def collected(sdk, heard):
    """What a caller holds in the end, however the pieces were cut."""
    heard = tidy(heard, FILLER)
    folded = {**heard, "values": FOLD[sdk](heard["values"]) if heard["values"] else []}
    if sdk == "chat" and heard["values"]:
        folded["whole"] = steady(folded.get("whole"))
    return folded


def main():
    cases, known = load(sys.argv[1]), load(sys.argv[2])
    sdks = [argument.split("=", 1) for argument in sys.argv[3:]]
    results = {language: load(path) for language, path in sdks}
    failed, seen = 0, set()
    print(f"{'recording':58}{'protocol':11}" + "".join(f"{language:9}" for language in results) + "heard")
    for case in cases:
        name, cells, lines = case["name"], [], []
        for language in results:
            expected = {**known.get(name, {}), **known.get(f"{name} {language}", {})}
            seen.update({name, f"{name} {language}"} & known.keys())
            faults, same, found = judge(case, results[language][name], expected)
            lines += [f"    {language} {fault}" for fault in faults]
            cells.append("DIFFERS" if faults else "exact" if same else "same")
        failed += bool(lines)
        print(f"{name:58}{case['sdk']:11}" + "".join(f"{cell:9}" for cell in cells) + short(found))
        if lines:
            print(f"    note: {case['frames_note']}")
        for line in lines:
            print(line)
    for name in sorted(known.keys() - seen):
        failed += 1
        print(f"no such recording: {name}")
    print(f"{len(cases)} recordings, {failed} with differences")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
