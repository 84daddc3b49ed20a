// The registry as JavaScript's library uses it, and nothing else: the lock of proper-lockfile, which
// is the folder `services.json.lock`, then read, change and write in place. It knows nothing of
// Python's lock. What it takes and does is that of registry.py.

import { mkdirSync, readFileSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LOCK_MAX_MS = 60_000;
const [folder, name, rounds, end, locks] = process.argv.slice(2);
const file = join(folder, "services.json");
const lockPython = join(folder, "services.lock");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function load() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}

// Others of this kind write in place, so outside of the lock a file may be half written.
async function look() {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    try {
      return load();
    } catch {
      await pause(10);
    }
  }
  return fail("the registry is broken");
}

function fail(why) {
  console.error(`${name}: ${why}`);
  process.exit(1);
}

async function acquire(make) {
  const deadline = Date.now() + LOCK_MAX_MS;
  for (;;) {
    try {
      return make();
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (Date.now() > deadline) fail("no lock");
      await pause(10 + Math.random() * 90);
    }
  }
}

async function change(edit) {
  if (locks === "all") await acquire(() => writeFileSync(lockPython, "", { flag: "wx" }));
  await acquire(() => mkdirSync(`${file}.lock`));
  try {
    const entries = load();
    edit(entries);
    writeFileSync(file, JSON.stringify(entries, null, 2));
  } finally {
    rmdirSync(`${file}.lock`);
    if (locks === "all") unlinkSync(lockPython);
  }
}

async function register() {
  const port = 1024 + Math.floor(Math.random() * 64_000);
  const started = new Date().toISOString();
  await change((entries) => Object.assign(entries, { [name]: { port, pid: process.pid, started } }));
  const entry = (await look())[name];
  if (entry?.port !== port || entry.pid !== process.pid) fail("lost its entry");
}

async function unregister() {
  await change((entries) => delete entries[name]);
  if (name in (await look())) fail("its entry came back");
}

for (let round = 0; round < Number(rounds); round += 1) {
  await register();
  await unregister();
}
if (end !== "leave") {
  await register();
  process.stdout.write("registered\n");
}
if (end === "stay") process.stdin.resume();
if (end === "die") process.kill(process.pid, "SIGKILL");
