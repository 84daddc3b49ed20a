"""The Quorum backend against the original, in one run: start, memory, requests, discussions.

    cargo build --release -p althing -p althing-testkit
    python3 bench/quorum.py [--runs N]

Needs Python 3.11 with venv. The original is installed from PyPI into target/peers/quorum-bench on first
use. Everything stays on loopback. Times are medians; what counts are the ratios, since both were measured
in the same run on the same machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / "target/peers/quorum-bench"
ALTHING = ROOT / "target/release/althing"
UPSTREAM = ROOT / "target/release/upstream"
RACE = ROOT / "target/release/ipc_race"
MODELS = ["alpha", "beta", "gamma"]
STEP_SECONDS_MAX = 120


class Backend:
    """A backend as a child process that speaks lines of JSON."""

    def __init__(self, argv, env, folder):
        self.began = time.perf_counter()
        self.child = subprocess.Popen(
            argv, env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.line()
        self.ready_ms = (time.perf_counter() - self.began) * 1e3
        self.next_id = 0

    def line(self):
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit("a backend ended by itself")
        return json.loads(line)

    def send(self, method, params):
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.child.stdin.write(json.dumps(request).encode() + b"\n")
        self.child.stdin.flush()
        return self.next_id

    def call(self, method, params):
        wanted = self.send(method, params)
        deadline = time.perf_counter() + STEP_SECONDS_MAX
        while time.perf_counter() < deadline:
            message = self.line()
            if message.get("id") == wanted:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
        raise SystemExit(f"{method}: no answer in {STEP_SECONDS_MAX} s")

    def pipelined(self, method, count):
        """Requests a second when `count` are sent without waiting."""
        request = b"".join(
            json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": {}}).encode() + b"\n"
            for at in range(count)
        )
        began = time.perf_counter()
        thread = threading.Thread(target=self.write_all, args=(request,))
        thread.start()
        lines = 0
        while lines < count:
            lines += self.child.stdout.read1(1 << 20).count(b"\n")
        thread.join()
        return count / (time.perf_counter() - began)

    def write_all(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def end(self):
        self.child.stdin.close()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Upstream:
    def __init__(self, latency_ms):
        argv = [str(UPSTREAM), "--latency-ms", str(latency_ms)]
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait(timeout=10)


def install():
    if not (VENV / "bin/python").exists() or not (VENV / "installed").exists():
        print("installing the original …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        requirements = ROOT / "peers/quorum/bench-requirements.txt"
        subprocess.run([VENV / "bin/pip", "install", "-q", "-r", str(requirements)], check=True)
        (VENV / "installed").touch()


def environment(home, upstream_url):
    # The key has the length that the original wants; the upstream takes any.
    return {
        "HOME": home,
        "PATH": os.environ["PATH"],
        "OPENAI_API_KEY": "sk-bench-0123456789abcdef0123",
        "OPENAI_BASE_URL": f"{upstream_url}/v1",
        "OPENAI_MODELS": ",".join(MODELS),
        "OLLAMA_BASE_URL": "http://127.0.0.1:9",
    }


def kinds():
    python = str(VENV / "bin/python")
    unthrottled = str(ROOT / "peers/quorum/unthrottled.py")
    return {
        "original": [python, "-m", "quorum", "--ipc"],
        "unthrottled": [python, unthrottled],
        "undelayed": [python, unthrottled, "--undelayed"],
        "althing": [str(ALTHING), "--ipc"],
    }


def start_times(runs):
    with Upstream(0) as upstream:
        times = {"original": [], "althing": []}
        for _ in range(runs):
            for kind in times:
                with tempfile.TemporaryDirectory() as home:
                    backend = Backend(kinds()[kind], environment(home, upstream.url), home)
                    times[kind].append(backend.ready_ms)
                    backend.end()
    return {kind: statistics.median(values) for kind, values in times.items()}


def requests():
    rates = {}
    with Upstream(0) as upstream:
        for kind, count in [("unthrottled", 5_000), ("althing", 100_000)]:
            with tempfile.TemporaryDirectory() as home:
                backend = Backend(kinds()[kind], environment(home, upstream.url), home)
                backend.call("initialize", {})
                backend.call("add_to_input_history", {"input": "What is AI?"})
                backend.pipelined("get_input_history", count // 10)
                rates[kind] = backend.pipelined("get_input_history", count)
                backend.end()
    return rates


def discussions(latency_ms, runs):
    """Milliseconds of a standard discussion and of its bare calls, taken in turn; the memory after them.

    The gaps that a frontend needs between the answer to resume_discussion and the next phase_complete are
    in neither: they are given by themselves.
    """
    times, memory = {}, {}
    for kind in ["undelayed", "althing"]:
        with tempfile.TemporaryDirectory() as home:
            argv = [str(RACE), str(latency_ms), str(runs), *kinds()[kind]]
            env = {"HOME": home, "PATH": os.environ["PATH"]}
            done = subprocess.run(argv, env=env, cwd=home, stdout=subprocess.PIPE, check=True)
        measured = json.loads(done.stdout)
        # Each made its own calls with its own prompts, and is compared with those.
        times[kind] = [statistics.median(measured[it]) for it in ("bare", "backend", "gaps")]
        memory[kind] = measured["memory_kb"] / 1024
    return times, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    install()
    start = start_times(runs)
    print(f"spawn to ready: original {start['original']:.1f} ms, althing {start['althing']:.1f} ms, "
          f"{start['original'] / start['althing']:.0f} times faster", flush=True)
    rates = requests()
    print(f"get_input_history, pipelined: original without its throttle {rates['unthrottled']:.0f}/s, "
          f"althing {rates['althing']:.0f}/s, ratio {rates['althing'] / rates['unthrottled']:.0f}", flush=True)
    for latency in (0, 50):
        times, memory = discussions(latency, runs)
        for kind, (bare, whole, gaps) in times.items():
            print(f"standard discussion, 3 models, {latency} ms upstream, {kind}: its bare calls {bare:.1f} ms, "
                  f"whole {whole:.1f} ms, over the bare calls {whole - bare:.1f} ms; gaps for frontends, left out: "
                  f"{gaps:.1f} ms", flush=True)
        print(f"memory after {runs + 1} discussions: original {memory['undelayed']:.1f} MB, "
              f"althing {memory['althing']:.1f} MB, ratio {memory['althing'] / memory['undelayed']:.2f}", flush=True)


if __name__ == "__main__":
    main()
