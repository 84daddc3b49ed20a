// An extension on vscode-jsonrpc: our host is the other side.
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node.js";

const reader = new StreamMessageReader(process.stdin);
const writer = new StreamMessageWriter(process.stdout);
const connection = createMessageConnection(reader, writer);
connection.onRequest("initialize", () => ({
  name: "vscode-jsonrpc",
  version: "1",
  capabilities: { commands: ["node/run"] },
}));
connection.onRequest("shutdown", () => ({ success: true }));
connection.onNotification("command/execute", async () => {
  const formats = ["hl7", "json", "yaml", "toml"];
  const ask = (format) => connection.sendRequest("editor/getMessage", { format });
  const [text] = await Promise.all(formats.map(ask));
  const refused = await connection.sendRequest("no/such", {}).catch((error) => error.code);
  const value = `${text.message.length} ${refused} 🙂`;
  await connection.sendRequest("editor/patchMessage", { patches: [{ path: "PID.2", value }] });
});
connection.onClose(() => process.exit(0));
connection.listen();
