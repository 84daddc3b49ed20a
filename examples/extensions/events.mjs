// Hears of every change of the message, in JavaScript on nothing but Node. It reads bytes, answers
// in any order, and has ids of its own kind.
let buffer = Buffer.alloc(0);
const waiting = new Map();
let last = 0;

const send = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write(`Content-Type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
};

const request = (method, params) => {
  const id = `events-${++last}`;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
};

const log = (text) => process.stderr.write(`[INFO] ${text}\n`);

const content = { includeContent: true, format: "json" };
const handlers = {
  initialize: () => ({
    name: "Events",
    version: "1.0.0",
    capabilities: {
      commands: ["events/count"],
      events: [
        { name: "message/changed", options: content },
        { name: "message/opened" },
        { name: "message/saved" },
      ],
    },
  }),
  shutdown: () => ({ success: true }),
  "message/changed": ({ message }) => {
    log(`changed: ${JSON.parse(message).segments.length} segments`);
  },
  "message/opened": ({ isNew, filePath }) => log(`opened: ${isNew ? "new" : filePath}`),
  "message/saved": ({ filePath, saveAs }) => log(`saved: ${filePath} ${saveAs}`),
  // All at once: the answers may come in any order.
  "command/execute": async () => {
    const formats = ["hl7", "json", "yaml", "toml"];
    const ask = (format) => request("editor/getMessage", { format });
    const got = await Promise.all(formats.map(ask));
    log(`lengths: ${got.map(({ message }) => message.length > 0).join(" ")}`);
  },
};

const take = (message) => {
  if (!message.method) {
    const { resolve, reject } = waiting.get(message.id);
    waiting.delete(message.id);
    return message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }
  const result = handlers[message.method]?.(message.params);
  if (message.id !== undefined) send({ id: message.id, result });
  if (message.method === "shutdown") process.stdout.write("", () => process.exit(0));
};

process.stdin.on("data", (data) => {
  buffer = Buffer.concat([buffer, data]);
  for (;;) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/.exec(buffer.subarray(0, end))[1]);
    if (buffer.length < end + 4 + length) return;
    const body = buffer.subarray(end + 4, end + 4 + length).toString();
    buffer = buffer.subarray(end + 4 + length);
    take(JSON.parse(body));
  }
});
process.stdin.on("end", () => process.exit(0));
