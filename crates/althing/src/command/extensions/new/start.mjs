#!/usr/bin/env node
// {name}: an extension for the message in the editor, on nothing but Node's library.
//
// It has one command, {name}/greet, with a button. The command reads a field of the message, asks the
// person, and adds a note. The methods that may be called are in docs/protocols/hermes-extensions.md.

const COMMAND = "{name}/greet";
let buffer = Buffer.alloc(0);
let lastId = 0;
const waiting = new Map();

// What goes to standard error is in the log of the extension.
const log = (text) => process.stderr.write(`${text}\n`);

function send(message, then) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const header = `Content-Length: ${body.length}\r\n\r\n`;
  process.stdout.write(Buffer.concat([Buffer.from(header), body]), then);
}

/** Asks the host. */
function request(method, params) {
  lastId += 1;
  send({ id: lastId, method, params });
  return new Promise((resolve, reject) => waiting.set(lastId, { resolve, reject }));
}

async function greet() {
  const { message } = await request("editor/getMessage", { format: "json" });
  const { segments } = JSON.parse(message);
  const name = segments.find(({ segment }) => segment === "PID")?.fields["5"];
  const family = (typeof name === "object" ? name["1"] : name) ?? "nobody";
  const { confirmed } = await request("ui/showConfirm", { message: `Greet ${family}?` });
  if (!confirmed) return;
  const note = `Greetings to ${family}`;
  const patches = [{ path: "NTE", create: true }, { path: "NTE.3", value: note }];
  const report = await request("editor/patchMessage", { patches });
  log(`[INFO] ${report.patchesApplied} patches`);
}

const handlers = {
  initialize: () => ({
    name: "{name}",
    version: "0.1.0",
    capabilities: { commands: [COMMAND] },
    toolbarButtons: [{ id: "greet", label: "Greet", icon: "", command: COMMAND }],
  }),
  "command/execute": () => greet().catch((error) => log(`[ERROR] ${error.message}`)),
  shutdown: () => ({ success: true }),
};

function take(message) {
  if (!message.method) {
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    return message.error ? call?.reject(new Error(message.error.message)) : call?.resolve(message.result);
  }
  const result = handlers[message.method]?.(message.params) ?? null;
  const then = message.method === "shutdown" ? () => process.exit(0) : undefined;
  if (message.id !== undefined) send({ id: message.id, result }, then);
}

process.stdin.on("data", (data) => {
  buffer = Buffer.concat([buffer, data]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length:\s*(\d+)/i.exec(buffer.subarray(0, end))[1]);
    if (buffer.length < end + 4 + length) return;
    const body = buffer.subarray(end + 4, end + 4 + length).toString();
    buffer = buffer.subarray(end + 4 + length);
    take(JSON.parse(body));
  }
});
process.stdin.on("end", () => process.exit(0));
