"""A provider for the SDKs to be recorded from: chat completions, unary and streamed, and embeddings, out of the
standard library alone. Prints its port; `GET /count` says how often it was asked."""

import http.server
import json
import threading

ASKED = 0
LOCK = threading.Lock()


def completion(model: str, prompt: str) -> dict:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": f"You said {prompt}"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


def chunks(model: str, prompt: str) -> list[dict]:
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    deltas = [{"role": "assistant", "content": ""}, *({"content": f"{word} "} for word in ("You", "said", prompt)), {}]
    return [
        {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer({"count": ASKED})

    def do_POST(self) -> None:
        global ASKED
        with LOCK:
            ASKED += 1
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        steers = [name for name in [*body, *self.headers] if name.lower().startswith(("vcr", "x-vcr"))]
        if steers:
            self.answer({"error": {"message": f"{steers} are none of a provider's business"}}, 400)
        elif self.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            self.answer({"object": "list", "data": data, "model": body["model"], "usage": usage})
        elif body.get("stream"):
            self.stream(chunks(body["model"], body["messages"][-1]["content"]))
        else:
            self.answer(completion(body["model"], body["messages"][-1]["content"]))

    def answer(self, document: dict, status: int = 200) -> None:
        body = json.dumps(document, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, payloads: list[dict]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in [*map(json.dumps, payloads), "[DONE]"]:
            event = f"data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
