// Functions for Althing in JavaScript. It needs only zeromq and msgpackr: npm install zeromq msgpackr
//
// Write your own functions, each with its row in TOOLS, and leave the rest below the line as it is.
// What you print is shown by `althing workers logs`.

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

const functions = {
  add: (a, b) => a + b,
  mean: (numbers) => numbers.reduce((sum, it) => sum + it, 0) / numbers.length,
  // Only for a worker that is a model: a conversation in, an answer out.
  complete: (messages) => `You said: ${messages.at(-1).content}`,
  describe: () => TOOLS,
  list_functions: () => Object.keys(functions).sort(),
};

// -----------------------------------------------------------------------------------------------

const APP = "comlink_ipc_v4";
const ORPHAN_POLL_MS = 500;
const packr = new Packr({ useRecords: false, int64AsType: "auto", mapsAsObjects: true });

// What a call came to, as the fields of a message.
async function answer({ function: name = "", args }) {
  try {
    if (name.startsWith("_")) throw new Error(`Cannot call private method '${name}'`);
    if (!Object.hasOwn(functions, name)) throw new Error(`Function '${name}' not found`);
    return { type: "response", result: (await functions[name](...(args ?? []))) ?? null };
  } catch (error) {
    return { type: "error", error: `${error.name}: ${error.message}\nTraceback\n${error.stack}` };
  }
}

async function reply(message) {
  if (message.type === "call") return answer(message);
  if (message.type !== "heartbeat") return null;
  const hb_timestamp = message.metadata?.hb_timestamp ?? Date.now() / 1000;
  return { type: "heartbeat", metadata: { hb_timestamp, hb_response: true } };
}

const port = process.env.COMLINK_ZMQ_PORT;
if (port === undefined) {
  console.error("Althing starts this program: see `althing workers new --help`");
  process.exit(1);
}
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(0), ORPHAN_POLL_MS);
const socket = new Router({ mandatory: true, sendHighWaterMark: 0, linger: 1000 });
socket.connect(`tcp://127.0.0.1:${port}`);
for await (const frames of socket) {
  const message = packr.unpack(frames.at(-1));
  if (message?.app !== APP) continue;
  if (message.type === "shutdown") break;
  const fields = await reply(message);
  if (!fields) continue;
  const head = { app: APP, id: message.id, timestamp: Date.now() / 1000 };
  await socket.send([frames[0], "", packr.pack({ ...head, ...fields })]);
}
socket.close();
process.exit(0);
