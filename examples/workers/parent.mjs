// A parent in JavaScript, from the protocol's text. It spawns a worker or connects to a service,
// calls the functions that worker.mjs has, and says what it found:
//
//     node parent.mjs spawn PROGRAM [ARGUMENT...]
//     node parent.mjs connect SERVICE

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Packr } from "msgpackr";
import { Dealer } from "zeromq";

const APP = "comlink_ipc_v4";
const CALL_MAX_MS = 30_000;
const packr = new Packr({ useRecords: false, int64AsType: "auto", mapsAsObjects: true });

export class Parent {
  socket = new Dealer({ linger: 1000 });
  pending = new Map();
  output = [];
  sending = Promise.resolve();

  async spawn([program, ...args]) {
    await this.socket.bind("tcp://127.0.0.1:*");
    const port = this.socket.lastEndpoint.split(":").pop();
    const env = { ...process.env, COMLINK_ZMQ_PORT: port, COMLINK_WORKER_MODE: "1" };
    const child = spawn(program, args, { env, stdio: ["ignore", "inherit", "inherit"] });
    this.ended = new Promise((resolve) => {
      child.on("exit", (code, signal) => resolve(code ?? signal));
    });
  }

  async connect(service) {
    const file = join(homedir(), ".multifrost", "services.json");
    for (let attempt = 0; attempt < 300; attempt += 1) {
      const entry = existsSync(file) ? JSON.parse(readFileSync(file, "utf8"))[service] : undefined;
      if (entry) return this.socket.connect(`tcp://127.0.0.1:${entry.port}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`no service '${service}' is running`);
  }

  async read() {
    for await (const [, payload] of this.socket) {
      const message = packr.unpack(payload);
      if (message.type === "stdout" || message.type === "stderr") this.output.push([message.type, message.output]);
      const slot = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (message.type === "error") slot?.reject(new Error(message.error));
      else slot?.resolve(message.type === "response" ? message.result ?? null : message);
    }
  }

  send(type, fields = {}, max = CALL_MAX_MS) {
    const id = randomUUID();
    const message = packr.pack({ app: APP, id, type, timestamp: Date.now() / 1000, ...fields });
    this.sending = this.sending.then(() => this.socket.send(["", message]));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.pending.delete(id);
        reject(new Error("timed out"));
      }, max);
      const done = (then) => (value) => {
        clearTimeout(timer);
        then(value);
      };
      this.pending.set(id, { resolve: done(resolve), reject: done(reject) });
    });
  }

  call(name, ...args) {
    return this.send("call", { function: name, args, namespace: "default" });
  }
}

async function check(parent) {
  assert.equal(await parent.call("add", 1, 2), 3);
  const values = [null, true, 0, -1, 2 ** 32, 2n ** 63n - 1n, 2n ** 64n - 1n, 1.5, NaN, -Infinity];
  values.push("žluť 🌊", [1, [2, [3]]], { a: { b: [] } });
  for (const value of values) assert.deepEqual(await parent.call("echo", value), value);
  const bytes = await parent.call("echo", Buffer.from([255, 0]));
  assert.deepEqual([...bytes], [255, 0]);
  const big = "x".repeat(10_000_000);
  assert.ok((await parent.call("echo", big)) === big);
  assert.equal(await parent.call("power", 2, 63), 2n ** 63n);
  assert.throws(() => parent.call("echo", 2n ** 64n), RangeError);
  for (const [name, args, words] of [
    ["power", [2, 64], /OverflowError|RangeError/],
    ["fail", ["no luck"], /no luck\nTraceback/],
    ["nope", [], /Function 'nope' not found/],
    ["_secret", [], /Cannot call private method '_secret'/],
    ["", [], /Message missing 'function'/],
  ]) {
    await assert.rejects(parent.call(name, ...args), words);
  }
  await assert.rejects(parent.send("call", { function: "add", args: [1, 2], namespace: "other" }, 200), /timed out/);
  const calls = Array.from({ length: 1000 }, (_, n) => parent.call("add", n, 1));
  assert.deepEqual(await Promise.all(calls), calls.map((_, n) => n + 1));
  await parent.call("say", "hello");
  assert.deepEqual(parent.output.sort(), [["stderr", "hello"], ["stdout", "hello"]]);
  const beat = await parent.send("heartbeat", { metadata: { hb_timestamp: 12.5 } });
  assert.deepEqual(beat.metadata, { hb_timestamp: 12.5, hb_response: true });
  assert.ok((await parent.call("list_functions")).includes("add"));
}

// A worker that dies is seen by its process: a ZeroMQ socket says nothing.
async function checkCrash(command) {
  let parent = new Parent();
  await parent.spawn(command);
  parent.read();
  await parent.call("pid");
  parent.call("crash", 3).catch(() => {});
  assert.equal(await parent.ended, 3);
  parent = new Parent();
  await parent.spawn(command);
  parent.read();
  const pid = await parent.call("pid");
  parent.call("sleep", 600).catch(() => {});
  process.kill(pid, "SIGKILL");
  assert.equal(await parent.ended, "SIGKILL");
}

const [, script, mode, ...rest] = process.argv;
if (script?.endsWith("parent.mjs")) {
  const parent = new Parent();
  await (mode === "spawn" ? parent.spawn(rest) : parent.connect(rest[0]));
  parent.read();
  await check(parent);
  parent.send("shutdown").catch(() => {});
  if (mode === "spawn") {
    assert.equal(await parent.ended, 0);
    await checkCrash(rest);
  }
  await parent.sending;
  parent.socket.close();
  console.log("all as expected");
  process.exit(0);
}
