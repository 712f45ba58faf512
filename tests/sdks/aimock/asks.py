"""What the SDKs ask of aimock: `asks.py FIXTURES OUT` writes every kind of question in each protocol, with the facts that
the fixture of the question settles."""

import json
import sys

PARAMETERS = {
    "get_weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
    "get_time": {"type": "object", "properties": {"zone": {"type": "string"}}},
}
# The prompt of each kind, and whether it is asked for whole, as a stream or both ways.
WAYS = {
    "text": ("Say hello.", "both"),
    "tool": ("Use one tool.", "both"),
    "tools": ("Use two tools.", "both"),
    "tool-result": ("How is the weather?", "both"),
    "tool-first": ("Ask the tool first.", "both"),
    "reasoning": ("Please think: 17 * 23?", "both"),
    "length": ("Tell me a long story.", "both"),
    "empty": ("Say nothing.", "both"),
    "error-429": ("You ask too fast.", "both"),
    "error-400": ("I refuse the request.", "both"),
    "error-503": ("You break down.", "both"),
    "cut": ("You hang up.", "stream"),
}
WITH_TOOLS = {"tool", "tools", "tool-result", "tool-first"}
STATUS = {"error-429": 429, "error-400": 400, "error-503": 503}


def chat(prompt, kind, streamed):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}], "temperature": 0.2}
    if kind in WITH_TOOLS:
        body["tools"] = [{"type": "function", "function": {"name": n, "parameters": p}} for n, p in PARAMETERS.items()]
    if kind == "tool-result":
        called = {"name": "get_weather", "arguments": '{"city":"Zürich"}'}
        call = {"id": "call_weather_1", "type": "function", "function": called}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_weather_1", "content": '{"celsius": 21}'},
        ]
    return {**body, "stream": True, "stream_options": {"include_usage": True}} if streamed else body


def responses(prompt, kind, streamed):
    body = {"model": "gpt-5-mini", "input": prompt, "include": ["reasoning.encrypted_content"], "store": False}
    if kind in WITH_TOOLS:
        body["tools"] = [{"type": "function", "name": n, "parameters": p, "strict": False} for n, p in PARAMETERS.items()]
    if kind == "tool-result":
        called = {"call_id": "call_weather_1", "name": "get_weather", "arguments": '{"city":"Zürich"}'}
        body["input"] = [
            {"role": "user", "content": prompt},
            {"type": "function_call", **called},
            {"type": "function_call_output", "call_id": "call_weather_1", "output": '{"celsius": 21}'},
        ]
    return {**body, "stream": True} if streamed else body


def messages(prompt, kind, streamed):
    body = {"model": "claude-haiku-4-5", "max_tokens": 2048, "messages": [{"role": "user", "content": prompt}]}
    if kind == "reasoning":
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    if kind in WITH_TOOLS:
        body["system"] = "Use the tools."
        body["tools"] = [{"name": n, "input_schema": p} for n, p in PARAMETERS.items()]
    if kind == "tool-result":
        call = {"type": "tool_use", "id": "call_weather_1", "name": "get_weather", "input": {"city": "Zürich"}}
        result = {"type": "tool_result", "tool_use_id": "call_weather_1", "content": '{"celsius": 21}'}
        body["messages"] += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {**body, "stream": True} if streamed else body


def gemini(prompt, kind, streamed):
    body = {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "generationConfig": {"temperature": 0.2}}
    if kind in WITH_TOOLS:
        declared = [{"name": n, "parametersJsonSchema": p} for n, p in PARAMETERS.items()]
        body["tools"] = [{"functionDeclarations": declared}]
    if kind == "tool-result":
        call = {"functionCall": {"name": "get_weather", "args": {"city": "Zürich"}}}
        result = {"functionResponse": {"name": "get_weather", "response": {"celsius": 21}}}
        body["contents"] += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    return body


def ollama(prompt, kind, streamed):
    body = {"model": "qwen3:4b", "messages": [{"role": "user", "content": prompt}], "stream": streamed}
    if kind in WITH_TOOLS:
        body["tools"] = [{"type": "function", "function": {"name": n, "parameters": p}} for n, p in PARAMETERS.items()]
    if kind == "tool-result":
        call = {"function": {"name": "get_weather", "arguments": {"city": "Zürich"}}}
        body["messages"] += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_name": "get_weather", "content": '{"celsius": 21}'},
        ]
    return body


def generate(prompt, kind, streamed):
    return {"model": "qwen3:4b", "prompt": prompt, "system": "Be brief.", "stream": streamed}


class Protocol:
    """One way to ask: the SDK, where it is pointed to, and what it adds to that."""

    def __init__(self, name, sdk, base, path, body, without=(), more=None):
        self.name, self.sdk, self.base, self.path, self.body = name, sdk, base, path, body
        self.kinds = {kind: way for kind, way in {**WAYS, **(more or {})}.items() if kind not in without}


GEMINI = {False: "/v1beta/models/gemini-2.5-flash:generateContent", True: "/v1beta/models/gemini-2.5-flash:streamGenerateContent"}
AZURE = "/openai/deployments/gpt-4o-mini"
PROTOCOLS = [
    Protocol("openai-chat", "chat", "/v1", "/chat/completions", chat),
    Protocol("azure", "chat", AZURE, "/chat/completions", chat),
    Protocol("openrouter", "chat", "/api/v1", "/chat/completions", chat),
    Protocol(
        "openai-responses", "responses", "/v1", "/responses", responses, more={"search": ("Please search the web.", "both")}
    ),
    Protocol("anthropic", "anthropic", "", "/v1/messages", messages),
    Protocol("gemini", "gemini", "", GEMINI, gemini),
    Protocol("ollama", "ollama", "", "/api/chat", ollama),
    # It has neither tools nor a conversation.
    Protocol("ollama-generate", "generate", "", "/api/generate", generate, without=WITH_TOOLS),
]


def settled(kind, sdk, response):
    """The facts that the fixture settles, in the words of compare.py. The rest is the protocol's own."""
    if kind in STATUS:
        return {"status": STATUS[kind]}
    if kind == "cut":
        return {"cut": True}
    blocks = response.get("blocks", [])
    calls = response.get("toolCalls") or [block for block in blocks if block["type"] == "toolCall"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    found = {"text": response.get("content", "".join(texts))}
    found["tools"] = [[call["name"], call["arguments"]] for call in calls]
    if sdk == "anthropic" and response.get("reasoning"):
        found["thinking"] = response["reasoning"]
    usage = response.get("usage")
    if usage and sdk not in ("ollama", "generate"):
        found["tokens"] = [usage["prompt_tokens"], usage["completion_tokens"]]
    return {name: value for name, value in found.items() if value}


def response_to(prompt, kind, fixtures):
    for fixture in fixtures:
        match = fixture["match"]
        if match.get("hasToolResult", False) == (kind == "tool-result") and match.get("userMessage", "\0") in prompt:
            return fixture["response"]
    raise SystemExit(f"no fixture for {prompt!r}")


def conversations(fixtures):
    for protocol in PROTOCOLS:
        for kind, (prompt, ways) in protocol.kinds.items():
            for streamed in (False, True):
                if not streamed and ways == "stream":
                    continue
                path = protocol.path[streamed] if isinstance(protocol.path, dict) else protocol.path
                yield {
                    "name": f"{protocol.name}/{kind}{'-stream' if streamed else ''}",
                    "group": protocol.name,
                    "sdk": protocol.sdk,
                    "base": protocol.base,
                    "path": protocol.base + path,
                    # Python's asks below /v1 by default, where aimock has no Gemini.
                    "api_version": "v1beta",
                    "query": "api-version=2024-10-21" if protocol.name == "azure" else "",
                    "request": protocol.body(prompt, kind, streamed),
                    "facts": settled(kind, protocol.sdk, response_to(prompt, kind, fixtures)),
                }


def embeddings(fixtures):
    vector = next(fixture["response"]["embedding"] for fixture in fixtures if fixture["match"].get("inputText") == "red")
    shared = {"group": "embeddings", "sdk": "embeddings", "base": "/v1", "path": "/v1/embeddings", "query": ""}
    body = {"model": "text-embedding-3-small", "encoding_format": "float"}
    yield {
        **shared,
        "name": "embeddings/float",
        "request": {**body, "input": ["red", "blue"]},
        "facts": {"vectors": [vector, vector]},
    }
    yield {**shared, "name": "embeddings/error-429", "request": {**body, "input": "too fast"}, "facts": {"status": 429}}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        fixtures = json.load(file)["fixtures"]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump([*conversations(fixtures), *embeddings(fixtures)], file)


main()
