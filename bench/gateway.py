"""The HTTP face beside direct access, a bare reverse proxy, the LiteLLM proxy and the Portkey gateway.

    cargo build --release -p althing -p althing-testkit
    python3 bench/gateway.py [--rounds N] [--seconds N] [--without litellm,portkey]

All in one run, in turn. Of each figure the best round counts, except of the times of a lone connection: what
those are depends on where the system puts the processes, so there are many short rounds and their median
counts. On loopback, with the testkit's upstream behind all of
them. LiteLLM is installed from
PyPI into target/peers/litellm (as the tests do), Portkey from npm into target/peers/portkey-bench on first use;
CARGO_TARGET_DIR and ALTHING_PEERS_DIR name other places. What counts are the ratios; absolute times mean little
on a shared machine.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BIN = TARGET / "release"
PEERS = Path(os.environ.get("ALTHING_PEERS_DIR", TARGET / "peers"))
KEY = "sk-bench-0123456789abcdef"
START_SECONDS_MAX = 300
LONE_ROUNDS, LONE_SECONDS = 25, 0.4
# Portkey changes the headers of what it fetched, which Node refuses under hono's Response; a copy may be changed.
PORTKEY_SHIM = """const { fetch, Response } = globalThis;
globalThis.fetch = async (...all) => { const answer = await fetch(...all); return new Response(answer.body, answer); };
"""
BODY = {"model": "MODEL", "messages": [{"role": "user", "content": "Say something about the weather in one line."}]}


class NoAnswer(Exception):
    """A gateway that does not start is left out, and it is said why."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway:
    """Something that answers chat completions: its URL, model name, headers and process."""

    def __init__(self, name, url, model, headers=(), child=None, start_ms=None):
        self.name, self.url, self.model, self.headers = name, url, model, list(headers)
        self.child, self.start_ms = child, start_ms

    def body(self, **more):
        return json.dumps({**BODY, "model": self.model, **more})

    def load(self, connections, seconds, **more):
        url = f"{self.url}/chat/completions"
        command = [BIN / "load", url, str(connections), str(seconds), self.body(**more), *self.headers]
        before = self.cpu()
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        if report["failed"]:
            raise NoAnswer(f"{self.name}: {report['failed']} of {report['requests']} failed")
        report["cpu_us"] = (self.cpu() - before) * 1e6 / max(report["requests"], 1)
        return report

    def tree(self):
        """The process and everything below it."""
        if not self.child:
            return []
        pids, found = [self.child.pid], []
        while pids:
            pid = pids.pop()
            found.append(pid)
            try:
                for task in Path(f"/proc/{pid}/task").iterdir():
                    pids += map(int, (task / "children").read_text().split())
            except OSError:
                pass
        return found

    def cpu(self):
        ticks = 0
        for pid in self.tree():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
            except OSError:
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self, key):
        kb = 0
        for pid in self.tree():
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                kb += int(next(line for line in status.splitlines() if line.startswith(key)).split()[1])
            except (OSError, StopIteration):
                pass
        return kb / 1024

    def stop(self):
        if self.child:
            if self.child.stdin:
                self.child.stdin.close()
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


def printed_url(argv):
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, child.stdout.readline().strip()


def start(name, argv, env, folder, url, model, headers):
    """Starts a gateway and waits for its first good answer."""
    began = time.perf_counter()
    log = open(Path(folder) / f"{name}.log", "wb")
    child = subprocess.Popen(argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    gateway = Gateway(name, url, model, headers, child)
    request = urllib.request.Request(f"{url}/chat/completions", gateway.body().encode(), method="POST")
    request.add_header("content-type", "application/json")
    for header in headers:
        request.add_header(*header.split(":", 1))
    while time.perf_counter() - began < START_SECONDS_MAX:
        if child.poll() is not None:
            break
        try:
            urllib.request.urlopen(request, timeout=10).read()
            gateway.start_ms = (time.perf_counter() - began) * 1e3
            return gateway
        except OSError:
            time.sleep(0.002 if time.perf_counter() - began < 2 else 0.1)
    gateway.stop()
    raise NoAnswer(f"{name} did not answer; its log ends:\n{(Path(folder) / f'{name}.log').read_text()[-2000:]}")


def althing(folder, upstream):
    env = {
        "HOME": folder,
        "PATH": os.environ["PATH"],
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{upstream}/v1",
    }
    for name in ["OLLAMA", "LMSTUDIO", "LLAMASWAP"]:
        env[f"{name}_BASE_URL"] = "http://127.0.0.1:9"
    token = subprocess.run([BIN / "althing", "token"], env=env, cwd=folder, check=True, capture_output=True, text=True)
    port = free_port()
    argv = [BIN / "althing", "serve", "--no-dbus", "--http", f"127.0.0.1:{port}"]
    headers = [f"authorization:Bearer {token.stdout.strip()}"]
    return start("althing", argv, env, folder, f"http://127.0.0.1:{port}/v1", "openai:fake-large", headers)


def litellm(folder, upstream):
    program = PEERS / "litellm/bin/litellm"
    if not program.is_file():
        raise NoAnswer("no LiteLLM; `cargo xtask peers` installs it")
    config = Path(folder) / "litellm.yaml"
    config.write_text(
        "model_list:\n  - model_name: fake-large\n    litellm_params:\n"
        f"      model: openai/fake-large\n      api_base: {upstream}/v1\n      api_key: {KEY}\n"
        "litellm_settings:\n  telemetry: false\n"
    )
    port = free_port()
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY, "LITELLM_LOG": "ERROR"}
    argv = [program, "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    headers = [f"authorization:Bearer {KEY}"]
    return start("LiteLLM", argv, env, folder, f"http://127.0.0.1:{port}/v1", "fake-large", headers)


def portkey(folder, upstream):
    home = PEERS / "portkey-bench"
    server = home / "node_modules/@portkey-ai/gateway/build/start-server.js"
    if not server.is_file():
        home.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", home, "@portkey-ai/gateway@1.15.2"]
        subprocess.run(install, check=True)
    shim = Path(folder) / "portkey-shim.mjs"
    shim.write_text(PORTKEY_SHIM)
    port = free_port()
    argv = ["node", "--import", shim, server, "--headless", f"--port={port}"]
    headers = [
        f"authorization:Bearer {KEY}",
        "x-portkey-provider:openai",
        f"x-portkey-custom-host:{upstream}/v1",
    ]
    return start("Portkey", argv, dict(os.environ), folder, f"http://127.0.0.1:{port}/v1", "fake-large", headers)


def measure(gateway, seconds):
    """One round: rates, times, processor time."""
    row = {}
    gateway.load(16, 0.5)
    for connections in [1, 16, 64]:
        report = gateway.load(connections, seconds)
        row[f"c{connections}"] = report["per_second"]
        if connections == 16:
            row["cpu"] = report["cpu_us"]
    for connections in [1, 16]:
        report = gateway.load(connections, seconds, stream=True, max_tokens=1000)
        row[f"s{connections}"] = report["pieces_per_second"]
    return row


def paced(gateway, seconds):
    """With 10 ms between tokens: the first word and the longest gap."""
    report = gateway.load(1, seconds, stream=True, max_tokens=30)
    return {"first_ms": report["first_p50_us"] / 1e3, "gap_ms": report["gap_p50_us"] / 1e3}


def lone(gateways):
    """The times of one connection, in short rounds, one gateway after the other."""
    found = {it.name: [] for it in gateways}
    for _ in range(LONE_ROUNDS):
        for gateway in gateways:
            found[gateway.name].append(gateway.load(1, LONE_SECONDS))

    def median(reports, key):
        return statistics.median(it[key] for it in reports)

    return {name: {"p50": median(them, "p50_us"), "p99": median(them, "p99_us")} for name, them in found.items()}


def best(rounds):
    """Of each figure its best: what a noisy neighbour takes, he takes from one round or another."""
    least = ["cpu", "first_ms", "gap_ms"]
    return {key: (min if key in least else max)(row[key] for row in rounds) for key in rounds[0]}


def start_all(folder, upstream, wanted):
    makers = {"althing": althing, "litellm": litellm, "portkey": portkey}
    child, bare = printed_url([BIN / "bare_proxy", upstream])
    yield Gateway("direct", f"{upstream}/v1", "fake-large", [f"authorization:Bearer {KEY}"])
    yield Gateway("bare proxy", f"{bare}/v1", "fake-large", [f"authorization:Bearer {KEY}"], child)
    for name in wanted:
        try:
            yield makers[name](folder, upstream)
        except NoAnswer as why:
            print(f"left out: {why}")


def in_turn(folder, upstream_args, wanted, rounds, work, times=lambda gateways: {}):
    """All gateways over one upstream, one after the other in every round; their names and best figures. `times`
    may add some of its own."""
    upstream, url = printed_url([BIN / "upstream", *upstream_args])
    gateways = list(start_all(folder, url, wanted))
    idle_mb = {it.name: it.memory_mb("VmRSS:") for it in gateways}
    found = {it.name: [] for it in gateways}
    for at in range(rounds):
        print(f"round {at + 1} of {rounds} …", flush=True)
        for gateway in gateways:
            found[gateway.name].append(work(gateway))
    rows, more = {}, times(gateways)
    for gateway in gateways:
        memory = {"idle_mb": idle_mb[gateway.name], "peak_mb": gateway.memory_mb("VmHWM:")}
        own = {**memory, **more.get(gateway.name, {}), "start_ms": gateway.start_ms}
        rows[gateway.name] = {**best(found[gateway.name]), **own}
        gateway.stop()
    Gateway("", "", "", child=upstream).stop()
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without", default="", help="comma-separated: litellm, portkey")
    options = parser.parse_args()
    wanted = [name for name in ["althing", "litellm", "portkey"] if name not in options.without.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        load = lambda it: measure(it, options.seconds)
        rows = in_turn(folder, [], wanted, options.rounds, load, lone)
        pace = lambda it: paced(it, options.seconds)
        first = in_turn(folder, ["--delay-us", "10000"], wanted, 1, pace)
    report({name: {**first[name], **row} for name, row in rows.items() if name in first})


def report(rows):
    direct, bare = rows["direct"], rows["bare proxy"]
    print("requests per second, in brackets the ratio to direct access; p50 and p99 at one connection")
    print(f"{'':<11}|{'c=1':>15} |{'c=16':>16} |{'c=64':>16} | added p50 us | added p99 us | cpu us/request")
    for name, row in rows.items():
        cells = [f"{row[c]:8.0f} ({row[c] / direct[c]:5.3f})" for c in ["c1", "c16", "c64"]]
        added = (row["p50"] - direct["p50"], row["p99"] - direct["p99"])
        print(f"{name:<11}|{cells[0]} | {cells[1]} | {cells[2]} | {added[0]:12.0f} | {added[1]:12.0f} | {row['cpu']:8.0f}")
    print("\nstreams of 1000 chunks, chunks per second (ratio to direct); 10 ms per token; memory; start to first answer")
    print(f"{'':<11}|{'c=1':>16} |{'c=16':>16} | first word ms | longest gap ms | idle MB | peak MB | start ms")
    for name, row in rows.items():
        cells = [f"{row[c]:8.0f} ({row[c] / direct[c]:5.3f})" for c in ["s1", "s16"]]
        start_ms = f"{row['start_ms']:8.0f}" if row["start_ms"] else "       -"
        print(
            f"{name:<11}| {cells[0]} | {cells[1]} | {row['first_ms']:13.1f} | {row['gap_ms']:14.1f} "
            f"| {row['idle_mb']:7.1f} | {row['peak_mb']:7.1f} | {start_ms}"
        )
    ours = rows.get("althing")
    if ours:
        ratio = (ours["p50"] - direct["p50"]) / (bare["p50"] - direct["p50"])
        print(f"\nalthing: {ours['c16'] / direct['c16']:.2f} of direct at 16 connections; added p50 {ratio:.2f} times the")
        print(f"bare proxy's; {ours['cpu']:.0f} us of processor time per request ({ours['cpu'] / bare['cpu']:.2f} times the bare proxy's); first token {ours['first_ms'] - direct['first_ms']:+.1f} ms")
        print(f"against direct; {ours['s16'] / direct['s16']:.2f} of direct's chunks; first answer {ours['start_ms']:.0f} ms after start")


main()
