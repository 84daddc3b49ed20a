// Functions for Althing in JavaScript. It needs only zeromq and msgpackr: npm install zeromq msgpackr
//
// Write your own functions, each in `functions` and, if models are to use it, with its row in TOOLS.
// Leave the rest below the line as it is.
// What you print is shown by `althing workers logs`.

import { randomUUID } from "node:crypto";
import { Packr } from "msgpackr";
import { Router } from "zeromq";

// What models are told: the properties are the arguments, in this order.
const TOOLS = [
  {
    name: "add",
    description: "Adds two numbers",
    parameters: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
  },
  {
    name: "mean",
    description: "The mean of a list of numbers",
    parameters: {
      type: "object",
      properties: { numbers: { type: "array", items: { type: "number" } } },
      required: ["numbers"],
    },
  },
];

// What can be called, each by its name.
const functions = {
  add: (a, b) => a + b,
  mean: (numbers) => numbers.reduce((sum, it) => sum + it, 0) / numbers.length,
  // Only for a worker that is a model: a conversation in, an answer out. It may give it whole with
  // `return`, or piece by piece with `yield`; a piece is heard when it comes.
  async *complete(messages) {
    yield "You said: ";
    yield messages.at(-1).content;
  },
  describe: () => TOOLS,
  list_functions: () => Object.keys(functions).sort(),
};

// -----------------------------------------------------------------------------------------------

const APP = "comlink_ipc_v4";
const NAMESPACE = "default";
const ORPHAN_POLL_MS = 500;
// Beyond the protocol, for callers that name it too: answers piece by piece, and calls that are ended.
const EXTENSIONS = ["cancel", "stream"];
// Pieces that the caller has not taken yet, and their bytes; then the next one waits.
const PIECES_MAX = 256;
const BYTES_MAX = 1 << 20;
const packr = new Packr({ useRecords: false, int64AsType: "auto", mapsAsObjects: true });

const port = process.env.COMLINK_ZMQ_PORT;
if (port === undefined) {
  console.error("Althing starts this program: see `althing workers new --help`");
  process.exit(1);
}
if (!/^\d+$/.test(port) || port < 1024 || port > 65535) {
  console.error(`COMLINK_ZMQ_PORT: a port from 1024 to 65535, not '${port}'`);
  process.exit(1);
}
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(0), ORPHAN_POLL_MS);
const socket = new Router({ mandatory: true, sendHighWaterMark: 0, linger: 1000 });
// Of the calls that wait or run, by their id: whether nobody wants it any more, how many pieces were
// taken, and who waits to hear of either.
const open = new Map();
// Calls run and messages are sent one after the other.
let running = Promise.resolve();
let sending = Promise.resolve();

function send(caller, id, type, fields) {
  const message = packr.pack({ app: APP, id, type, timestamp: Date.now() / 1000, ...fields });
  sending = sending.then(() => socket.send([caller, "", message])).catch(() => {});
  return sending;
}

function call({ function: name, args }) {
  if (!name) throw new Error("Message missing 'function' field");
  if (typeof name !== "string" || !Array.isArray(args ?? [])) {
    throw new TypeError("'function' must be a string and 'args' an array");
  }
  if (name.startsWith("_")) throw new Error(`Cannot call private method '${name}'`);
  if (!Object.hasOwn(functions, name)) throw new Error(`Function '${name}' not found`);
  return functions[name](...(args ?? []));
}

async function answer(caller, message) {
  const { id, metadata } = message;
  const known = metadata?.ext ? { ext: EXTENSIONS } : {};
  try {
    check(open.get(id));
    let result = await call(message);
    const hasPieces = typeof result?.next === "function";
    if (hasPieces && metadata?.stream) {
      known.items = await stream(caller, id, result);
      result = null;
    } else if (hasPieces) {
      const pieces = [];
      for await (const piece of result) pieces.push(piece);
      result = pieces;
    }
    await send(caller, id, "response", { result: result ?? null, metadata: known });
  } catch (error) {
    const text = `${error.name}: ${error.message}\nTraceback\n${error.stack}`;
    await send(caller, id, "error", { error: text, metadata: known });
  }
  open.delete(id);
}

function check({ isCancelled }) {
  if (isCancelled) throw new Error("Cancelled: the caller has given up");
}

// Sends the pieces as they come, and gives their number.
async function stream(caller, id, pieces) {
  const [state, sizes] = [open.get(id), []];
  let [sent, taken, bytes] = [0, 0, 0];
  for await (const piece of pieces) {
    for (;;) {
      check(state);
      for (; taken < state.taken && sizes.length > 0; taken += 1) bytes -= sizes.shift();
      if (sizes.length < PIECES_MAX && bytes < BYTES_MAX) break;
      await new Promise((resolve) => { state.wake = resolve; });
    }
    const size = packr.pack(piece).length;
    sizes.push(size);
    bytes += size;
    sent += 1;
    await send(caller, id, "stream", { result: piece });
  }
  return sent;
}

// What cannot be read, or is not for us, is nothing.
function read(packed) {
  try {
    const message = packr.unpack(packed);
    return message?.app === APP && (message.namespace ?? NAMESPACE) === NAMESPACE ? message : {};
  } catch {
    return {};
  }
}

socket.connect(`tcp://127.0.0.1:${port}`);
for await (const frames of socket) {
  // Without a delimiter it is no message; what stands behind it is no part of it.
  if (frames.length < 3) continue;
  const message = read(frames[2]);
  const { type, id, metadata } = message;
  const [caller, state] = [frames[0], open.get(id)];
  if (type === "shutdown") break;
  if (type === "call" && (id ?? "") === "") {
    send(caller, randomUUID(), "error", { error: "Message missing 'id' field" });
  } else if (type === "call") {
    open.set(id, { isCancelled: false, taken: 0, wake: () => {} });
    running = running.then(() => answer(caller, message));
  } else if (type === "heartbeat") {
    const hb_timestamp = metadata?.hb_timestamp ?? Date.now() / 1000;
    send(caller, id, type, { metadata: { hb_timestamp, hb_response: true } });
  } else if (state) {
    state.isCancelled ||= type === "cancel";
    if (type === "stream") state.taken = metadata?.taken ?? 0;
    state.wake();
  }
}
socket.close();
process.exit(0);
