"""Serves the OpenAI dialect on loopback, records every prompt and answers from a script."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A larger request is refused: no discussion of a bench comes near it.
BODY_BYTES_MAX = 4 << 20
# Characters of one streamed piece.
PIECE_CHARS = 200


@dataclass
class Call:
    """One request as the upstream saw it, with what it answered."""

    number: int
    model: str
    prompt: list
    answer: str


class LoopbackServer:
    """Serves on a port of loopback that the system chooses, from `with` until its end.

    Its handlers know it as their `owner`.
    """

    def __init__(self, handler):
        owned = type(handler.__name__, (handler,), {"owner": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), owned)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class RecordingUpstream(LoopbackServer):
    """Records calls and answers them.

    `write_answer(number, model, nth)` gets the number of the call in the discussion and how many calls this
    model had before, both from 0.
    """

    def __init__(self, models, write_answer):
        super().__init__(ChatHandler)
        self.models = models
        self.write_answer = write_answer
        self.calls = []

    def record_call(self, request):
        """Records a request and returns the call with its answer."""
        model = request["model"]
        prompt = [(message["role"], read_content(message["content"])) for message in request["messages"]]
        with self.lock:
            nth = sum(call.model == model for call in self.calls)
            answer = self.write_answer(len(self.calls), model, nth)
            call = Call(len(self.calls), model, prompt, answer)
            self.calls.append(call)
        return call

    def take_calls(self):
        """Returns what was recorded, in time order, and begins anew."""
        with self.lock:
            calls, self.calls = self.calls, []
        return calls


def read_content(content):
    """Returns the text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


class ChatHandler(BaseHTTPRequestHandler):
    """Answers the list of models and chat completions, whole or streamed."""

    protocol_version = "HTTP/1.1"
    owner = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.rstrip("/").endswith("/models"):
            rows = [{"id": model, "object": "model"} for model in self.owner.models]
            self.send_whole(200, {"object": "list", "data": rows})
        else:
            self.refuse(404, f"there is no {self.path}")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if not self.path.endswith("/chat/completions"):
            self.close_connection = True
            self.refuse(404, f"there is no {self.path}")
        elif not 0 < length <= BODY_BYTES_MAX:
            self.close_connection = True
            self.refuse(413, f"a body of {length} bytes; it must have 1 to {BODY_BYTES_MAX}")
        else:
            request = json.loads(self.rfile.read(length))
            call = self.owner.record_call(request)
            if request.get("stream"):
                self.send_stream(call)
            else:
                self.send_whole(200, describe_answer(call))

    def refuse(self, status, message):
        self.send_whole(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def send_whole(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_stream(self, call):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in describe_chunks(call)] + ["data: [DONE]\n\n"]
        for line in map(str.encode, lines):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


def describe_answer(call):
    """Returns the answer as one object of the OpenAI dialect."""
    message = {"role": "assistant", "content": call.answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": 0,
        "model": call.model,
        "choices": [choice],
        "usage": describe_usage(call),
    }


def describe_chunks(call):
    """Returns the answer as the objects of a stream: pieces, the end, the usage."""

    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": call.model,
            "choices": [choice],
        }

    pieces = [call.answer[at : at + PIECE_CHARS] for at in range(0, len(call.answer), PIECE_CHARS)]
    usage = chunk({}) | {"choices": [], "usage": describe_usage(call)}
    return [chunk({"content": piece}) for piece in pieces] + [chunk({}, "stop"), usage]


def describe_usage(call):
    """Returns token counts by the rule of the bench: four characters each."""
    prompt = sum(len(content) for _, content in call.prompt) // 4
    answer = len(call.answer) // 4
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
