#!/usr/bin/env node
// Holds a discussion on `althing --ipc` and prints it. Ctrl-C cancels it; Althing keeps it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const USAGE = "usage: client.mjs QUESTION [--models ID,ID,...] [--method METHOD]";

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
  #waiting = new Map(); // by id; the event `ready` is waited for like an answer
  #ids = 0;

  constructor(program, onEvent) {
    // Detached, so that Ctrl-C reaches us alone.
    const stdio = ["pipe", "pipe", "inherit"];
    this.process = spawn(program, ["--ipc"], { stdio, detached: true });
    this.ended = once(this.process, "close").catch((error) => this.#fail(error.message));
    this.ready = this.#wait("ready");
    // To write to one that is gone is no news: its end is told below.
    this.process.stdin.on("error", () => {});
    const lines = createInterface({ input: this.process.stdout });
    lines.on("line", (line) => this.#hear(JSON.parse(line), onEvent));
    lines.on("close", () => this.#fail("the backend is gone"));
  }

  send(method, params = {}) {
    const id = ++this.#ids;
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return id;
  }

  call(method, params) {
    return this.#wait(this.send(method, params));
  }

  #wait(key) {
    return new Promise((resolve, reject) => this.#waiting.set(key, { resolve, reject }));
  }

  #hear({ id, method, params, result, error }, onEvent) {
    const key = id ?? method;
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (error) waiting?.reject(new Error(error.message));
    else if (waiting) waiting.resolve(result);
    else if (method) onEvent(method, params);
  }

  #fail(message) {
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
  }
}

/** Models may say anything; a terminal shall not obey it. */
const printable = (text) => text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\u{FFFD}");

/** Whether it was held to its end. */
async function discuss(question, { models, method }) {
  const seen = new Set();
  const backend = new Backend(process.env.ALTHING ?? "althing", (name, params) => {
    seen.add(name);
    const shown = SHOWN[name]?.replace(/{(\w+)}/g, (_, key) => params[key]);
    if (shown !== undefined) console.log(printable(shown));
    if (name === "phase_complete") backend.send("resume_discussion");
  });
  try {
    await backend.ready;
    await backend.call("initialize", { protocol_version: "1.0.0" });
    const { models: providers } = await backend.call("list_models");
    const known = Object.values(providers).flat().map((model) => model.id);
    console.log("Models:", known.join(", "));
    process.on("SIGINT", () => backend.send("cancel_discussion"));
    const model_ids = models?.split(",") ?? known.slice(0, 3);
    await backend.call("run_discussion", { question, model_ids, options: { method } });
    return !seen.has("discussion_cancelled");
  } finally {
    backend.process.stdin.end();
    await backend.ended;
  }
}

async function main() {
  const options = { models: { type: "string" }, method: { type: "string", default: "standard" } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length !== 1) throw new TypeError(USAGE);
  return (await discuss(positionals[0], values)) ? 0 : 130;
}

process.exitCode = await main().catch((error) => {
  console.error(`error: ${printable(error.message)}`);
  return error instanceof TypeError ? 2 : 1;
});
