#!/usr/bin/env node
// Holds a discussion on `althing --ipc` and prints it. Ctrl-C cancels it; Althing keeps it.
//
//     node client.mjs "Is a monolith enough?" --models gpt-5.1,claude-sonnet-4-5 --method oxford

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

// What is printed for an event; the others are not shown.
const SHOWN = {
  phase_start: "\n== {message} ({phase} of {total_phases})",
  thinking: "   {model} is thinking",
  independent_answer: "\n{source}: {content}",
  critique: "\n{source} agrees: {agreements}\ndisagrees: {disagreements}\nmisses: {missing}",
  chat_message: "\n{source}: {content}",
  final_position: "\n{source} ({confidence}): {position}",
  synthesis: "\n== {consensus}, says {synthesizer_model}\n{synthesis}\n\nOpen: {differences}",
  discussion_complete: "\nDone after {messages_count} messages.",
  discussion_cancelled: "\nCancelled.",
};

/** The child process: requests go in, answers and events come out on one stream. */
class Backend {
  #calls = new Map();
  #ids = 0;

  constructor(program, onEvent) {
    // Detached, so that Ctrl-C reaches us alone.
    this.process = spawn(program, ["--ipc"], { stdio: ["pipe", "pipe", "inherit"], detached: true });
    this.ready = new Promise((resolve, reject) => this.#calls.set("ready", { resolve, reject }));
    this.process.on("error", (error) => this.#fail(error));
    // Requests to a backend that is gone: its end is told below.
    this.process.stdin.on("error", () => {});
    const lines = createInterface({ input: this.process.stdout });
    lines.on("line", (line) => this.#hear(JSON.parse(line), onEvent));
    lines.on("close", () => this.#fail(new Error("the backend is gone")));
  }

  call(method, params = {}) {
    const id = ++this.#ids;
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  #hear({ id, method, params, result, error }, onEvent) {
    const call = this.#calls.get(id ?? method);
    this.#calls.delete(id ?? method);
    if (error) call?.reject(new Error(error.message));
    else if (call) call.resolve(result);
    else if (method) onEvent(method, params);
  }

  #fail(error) {
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }
}

/** Models may say anything; a terminal shall not obey it. */
const printable = (text) => text.replace(/[^\P{C}\n\t]/gu, "\u{FFFD}");

async function discuss(question, { models, method }) {
  let cancelled = false;
  const backend = new Backend(process.env.ALTHING ?? "althing", (name, params) => {
    const shown = SHOWN[name]?.replace(/{(\w+)}/g, (_, key) => params[key]);
    if (shown !== undefined) console.log(printable(shown));
    if (name === "phase_complete") backend.call("resume_discussion");
    cancelled ||= name === "discussion_cancelled";
  });
  try {
    await backend.ready;
    await backend.call("initialize", { protocol_version: "1.0.0" });
    const listed = (await backend.call("list_models")).models;
    const known = Object.values(listed).flat().map((model) => model.id);
    console.log("Models:", known.join(", "));
    process.on("SIGINT", () => backend.call("cancel_discussion"));
    const model_ids = models?.split(",") ?? known.slice(0, 3);
    await backend.call("run_discussion", { question, model_ids, options: { method } });
    return cancelled ? 130 : 0;
  } finally {
    backend.process.stdin.end();
    if (backend.process.pid && backend.process.exitCode === null) await once(backend.process, "exit");
  }
}

const options = { models: { type: "string" }, method: { type: "string", default: "standard" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
if (positionals.length !== 1) {
  console.error("usage: client.mjs QUESTION [--models ID,ID,...] [--method METHOD]");
  process.exit(2);
}
process.exitCode = await discuss(positionals[0], values).catch((error) => {
  console.error(`error: ${printable(error.message)}`);
  return 1;
});
