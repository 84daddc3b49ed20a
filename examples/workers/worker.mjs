// A worker in JavaScript, from the protocol's text: zeromq and msgpackr are all it needs.
//
// Spawned by a parent it connects back; with `--service NAME` it registers in the home's
// .multifrost/services.json and waits to be found.

import { randomUUID } from "node:crypto";
import {
  existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, statSync, unlinkSync, writeFileSync, writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { Packr } from "msgpackr";
import { Router } from "zeromq";

const APP = "comlink_ipc_v4";
const ORPHAN_POLL_MS = 500;
const STALE_MS = 10_000;
const { pack, unpack } = bound(new Packr({ useRecords: false, int64AsType: "auto", mapsAsObjects: true }));

function bound(packr) {
  return { pack: packr.pack.bind(packr), unpack: packr.unpack.bind(packr) };
}

// What parents may call: every property of its own without a leading underscore.
const functions = {
  add: (a, b) => a + b,
  echo: (value) => value,
  power: (base, exponent) => BigInt(base) ** BigInt(exponent),
  fail: (text) => {
    throw new Error(text);
  },
  say: (text) => {
    console.log(text);
    console.error(text);
  },
  sleep: async (seconds) => {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    return seconds;
  },
  pid: () => process.pid,
  crash: (code) => {
    writeSync(2, "these are my last words\n");
    process.exit(code);
  },
  list_functions: () => Object.keys(functions).filter((name) => !name.startsWith("_")).sort(),
  _secret: () => 42,
};

// Rather wait than lose an answer.
const socket = new Router({ mandatory: true, sendHighWaterMark: 0, linger: 1000 });
let caller;
let sending = Promise.resolve();

// One message at a time: the socket takes no two sends at once.
function send(to, { id, type, ...fields }) {
  const message = pack({ app: APP, id, type, timestamp: Date.now() / 1000, ...fields });
  sending = sending.then(() => socket.send([to, "", message])).catch(() => {});
  return sending;
}

function printer(type) {
  return (...parts) => {
    const output = parts.map((it) => (typeof it === "string" ? it : inspect(it))).join(" ");
    if (caller && output) send(caller, { id: randomUUID(), type, output });
  };
}

async function call(message) {
  const id = message.id || randomUUID();
  try {
    if (!message.id) throw new Error("Message missing 'id' field");
    const result = await find(message.function)(...(message.args ?? []));
    await send(caller, { id, type: "response", result: result ?? null });
  } catch (error) {
    await send(caller, { id, type: "error", error: `${error.name}: ${error.message}\n${error.stack}` });
  }
}

function find(name) {
  if (!name) throw new Error("Message missing 'function' field");
  if (name.startsWith("_")) throw new Error(`Cannot call private method '${name}'`);
  if (!Object.hasOwn(functions, name)) throw new Error(`Function '${name}' not found`);
  return functions[name];
}

// Handles one message; false is the end.
async function take([sender, , payload], namespace) {
  let message;
  try {
    message = unpack(payload);
  } catch {
    return true;
  }
  if (message?.app !== APP || (message.namespace ?? namespace) !== namespace) return true;
  caller = sender;
  if (message.type === "call") await call(message);
  if (message.type === "heartbeat") {
    const metadata = { hb_timestamp: message.metadata?.hb_timestamp ?? Date.now() / 1000, hb_response: true };
    await send(caller, { id: message.id, type: "heartbeat", metadata });
  }
  return message.type !== "shutdown";
}

// Makes what must not be there yet, and breaks what its maker died with.
async function acquire(path, make, remove) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return make(path);
    } catch (error) {
      if (error.code !== "EEXIST" || attempt > 1000) throw error;
      const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - touched > STALE_MS) remove(path);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

// Changes the registry under the locks of all libraries: Python, Go and Rust make a file,
// JavaScript a folder.
async function change(edit) {
  const folder = join(homedir(), ".multifrost");
  mkdirSync(folder, { recursive: true });
  const [file, lock] = [join(folder, "services.json"), join(folder, "services.lock")];
  await acquire(lock, (path) => writeFileSync(path, String(process.pid), { flag: "wx" }), unlinkSync);
  try {
    await acquire(`${file}.lock`, (path) => mkdirSync(path), rmdirSync);
    try {
      const entries = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
      edit(entries);
      writeFileSync(`${file}.${process.pid}`, JSON.stringify(entries));
      renameSync(`${file}.${process.pid}`, file);
    } finally {
      rmdirSync(`${file}.lock`);
    }
  } finally {
    unlinkSync(lock);
  }
}

const port = process.env.COMLINK_ZMQ_PORT;
const service = process.argv.includes("--service") ? process.argv[process.argv.indexOf("--service") + 1] : undefined;
if (port !== undefined) {
  if (!/^\d+$/.test(port) || port < 1024 || port > 65535) {
    console.error(`COMLINK_ZMQ_PORT: a port from 1024 to 65535, not '${port}'`);
    process.exit(1);
  }
  socket.connect(`tcp://127.0.0.1:${port}`);
} else if (service) {
  await socket.bind("tcp://127.0.0.1:*");
  const bound = Number(socket.lastEndpoint.split(":").pop());
  const started = new Date().toISOString();
  await change((entries) => {
    const other = entries[service]?.pid;
    if (other && existsSync(`/proc/${other}`)) throw new Error(`service '${service}' is already offered by process ${other}`);
    entries[service] = { port: bound, pid: process.pid, started };
  });
} else {
  console.error("COMLINK_ZMQ_PORT is not set and there is no service to offer");
  process.exit(1);
}

const end = async () => {
  await sending;
  if (port === undefined) {
    await change((entries) => {
      if (entries[service]?.pid === process.pid) delete entries[service];
    });
  }
  socket.close();
  process.exit(0);
};
process.on("SIGTERM", end);
process.on("SIGINT", end);
const parent = process.ppid;
if (port !== undefined) setInterval(() => process.ppid !== parent && process.exit(0), ORPHAN_POLL_MS);
console.log = printer("stdout");
console.error = printer("stderr");
for await (const frames of socket) {
  if (frames.length >= 3 && !(await take(frames, "default"))) break;
}
await end();
