// A host on vscode-jsonrpc: `host.mjs PROGRAM` runs an extension that is on our own library.
import { spawn } from "node:child_process";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node.js";

const child = spawn(process.argv[2], { stdio: ["pipe", "pipe", "inherit"] });
const reader = new StreamMessageReader(child.stdout);
const connection = createMessageConnection(reader, new StreamMessageWriter(child.stdin));
const message = "MSH|^~\\&|Zoë 🙂\rPID|1\r";
connection.onRequest("editor/getMessage", () => ({ message, hasFile: false }));
const patched = new Promise((resolve) => {
  connection.onRequest("editor/patchMessage", ({ patches }) => {
    resolve(patches[0].value);
    return { success: true, patchesApplied: 1 };
  });
});
connection.listen();
const { name } = await connection.sendRequest("initialize", { apiVersion: "1.0" });
await connection.sendNotification("command/execute", { command: "rust/run" });
const same = (await patched) === message;
const shutdown = () => connection.sendRequest("shutdown", { reason: "closing" });
const answers = await Promise.all([1, 2, 3].map(shutdown));
const refused = await connection.sendRequest("no/such", {}).catch((error) => error.code);
console.log(JSON.stringify({ name, same, answers: answers.length, refused }));
child.stdin.end();
child.on("exit", (code) => process.exit(code));
