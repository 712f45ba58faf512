"""What the official Python SDKs make of an answer. `judge.py CASES OUT` asks for every case at each of its addresses (such
as the provider's own, the raw layer, rendered frames) and writes down the typed result of each."""

import copy
import functools
import json
import ssl
import sys
import typing

import anthropic
import httpx
import httpx2
import ollama
import openai
from anthropic.lib.streaming._messages import accumulate_event
from google import genai
from google.genai import errors, types
from openai.lib.streaming.chat import ChatCompletionStreamState

KEY = "not-a-real-key"
# Every client reads all certificates anew, which takes longer than everything else here; and nothing here speaks TLS.
ssl.create_default_context = functools.cache(ssl.create_default_context)


def dump(value: typing.Any) -> typing.Any:
    """The typed result as JSON: what was sent, under the SDK's own names."""
    return json.loads(value.model_dump_json(exclude_unset=True, warnings=False))


class Heard:
    """What came of one call: typed values, and the error that ended it."""

    def __init__(self) -> None:
        self.values: list[typing.Any] = []
        self.whole: typing.Any = None
        self.error: dict | None = None
        self.streamed = False

    def listen(self, answer: typing.Any, streamed: bool, collect: typing.Callable[[list], typing.Any]) -> None:
        if not streamed:
            self.values.append(answer)
            self.whole = dump(answer)
            return
        self.streamed = True
        try:
            self.values.extend(iter_into(answer, self.values))
        finally:
            try:
                whole = collect(self.values)
                self.whole = dump(whole) if whole is not None else None
            except Exception as error:  # an accumulator that gives up has to give up over each layer
                self.whole = {"accumulator": f"{type(error).__name__}: {error}"}

    def result(self) -> dict:
        values = [dump(value) for value in self.values] if self.streamed else []
        return {"whole": self.whole, "values": values, "error": self.error}


def iter_into(answer: typing.Any, values: list) -> list:
    for value in answer:
        values.append(value)
    return []


def chat(base: str, case: dict, heard: Heard) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=base, max_retries=0, default_query=query(case))
    body = case["request"]
    # The whole body travels as it was recorded: a provider's own members are no arguments of the method.
    answer = client.chat.completions.create(
        model=body["model"], messages=body["messages"], stream=bool(body.get("stream")), extra_body=body
    )

    def collect(chunks: list) -> typing.Any:
        state = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    heard.listen(answer, bool(body.get("stream")), collect)


def responses(base: str, case: dict, heard: Heard) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=base, max_retries=0, default_query=query(case))
    body = case["request"]
    answer = client.responses.create(
        model=body["model"], input=body["input"], stream=bool(body.get("stream")), extra_body=body
    )
    heard.listen(answer, bool(body.get("stream")), last_response)


def last_response(events: list) -> typing.Any:
    ends = [event.response for event in events if getattr(event, "response", None) is not None]
    return ends[-1] if ends else None


def embeddings(base: str, case: dict, heard: Heard) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=base, max_retries=0)
    # Asked for nothing, the SDK asks for base64 and decodes it.
    body = {name: value for name, value in case["request"].items() if value != "base64"}
    heard.listen(client.embeddings.create(**body), False, last_response)


def messages(base: str, case: dict, heard: Heard) -> None:
    client = anthropic.Anthropic(api_key=KEY, base_url=base, max_retries=0)
    body = case["request"]
    answer = client.messages.create(
        model=body["model"],
        messages=body["messages"],
        max_tokens=body["max_tokens"],
        stream=bool(body.get("stream")),
        extra_body=body,
    )

    def collect(events: list) -> typing.Any:
        snapshot, buffers = None, {}
        for event in events:
            if event.type != "ping":
                snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
        return snapshot

    heard.listen(answer, bool(body.get("stream")), collect)


def gemini(base: str, case: dict, heard: Heard) -> None:
    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=base, api_version=case.get("api_version")))
    model, method = case["path"].rsplit("/", 1)[1].split(":")
    body = {name: value for name, value in copy.deepcopy(case["request"]).items() if value is not None}
    config = dict(body.get("generationConfig") or {})
    for name in ("safetySettings", "systemInstruction", "toolConfig", "tools"):
        if body.get(name):
            config[name] = body[name]
    if isinstance(config.get("tools"), dict):
        config["tools"] = [config["tools"]]
    for tool in config.get("tools", []):
        for declaration in tool.get("functionDeclarations", []):
            schema = declaration.pop("parameters_json_schema", None)
            if schema is not None:
                declaration["parametersJsonSchema"] = schema
    config["automaticFunctionCalling"] = {"disable": True}
    arguments = {"model": model, "contents": body["contents"], "config": config}
    streamed = method == "streamGenerateContent"
    ask = client.models.generate_content_stream if streamed else client.models.generate_content
    heard.listen(ask(**arguments), streamed, lambda chunks: None)


def chat_ollama(base: str, case: dict, heard: Heard) -> None:
    client = ollama.Client(host=base)
    body = case["request"]
    streamed = body.get("stream", True)
    names = ("model", "messages", "tools", "think", "format", "options", "keep_alive")
    arguments = {name: body[name] for name in names if name in body}
    heard.listen(client.chat(**arguments, stream=streamed), streamed, lambda chunks: None)


def generate(base: str, case: dict, heard: Heard) -> None:
    body = dict(case["request"])
    streamed = body.pop("stream", True)
    heard.listen(ollama.Client(host=base).generate(**body, stream=streamed), streamed, lambda chunks: None)


SDKS = {"chat": chat, "responses": responses, "embeddings": embeddings, "anthropic": messages, "gemini": gemini, "ollama": chat_ollama, "generate": generate}
ERRORS = (openai.OpenAIError, anthropic.AnthropicError, errors.APIError, ollama.ResponseError, httpx.HTTPError, httpx2.HTTPError, ValueError)


def query(case: dict) -> dict:
    return dict(pair.split("=", 1) for pair in case["query"].split("&") if pair)


def described(error: Exception) -> dict:
    """The error as a caller can handle it: class, status and the provider's own words."""
    code = getattr(error, "code", None)
    status = code if isinstance(error, errors.APIError) else getattr(error, "status_code", None)
    body = getattr(error, "body", None) or getattr(error, "details", None)
    return {"class": type(error).__name__, "status": status, "code": code, "message": str(error), "body": body}


def ask(base: str, case: dict) -> dict:
    heard = Heard()
    try:
        SDKS[case["sdk"]](base, case, heard)
    except ERRORS as error:
        heard.error = described(error)
    return heard.result()


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    results = {}
    for case in cases:
        results[case["name"]] = {layer: ask(case[layer][0], case) for layer in case["layers"]}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(results, file, default=str)


main()
