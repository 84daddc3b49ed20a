// A screen that nobody sees, with a window manager that gives the focus to one window at a time.
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs `work` with the name of such a screen, which ends whatever happens. */
export async function withScreen(work) {
  // It takes a number that is free, and tells which.
  const server = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
    { stdio: ["ignore", "ignore", "inherit", "pipe"] });
  const started = [server];
  try {
    const said = server.stdio[3].setEncoding("utf8")[Symbol.asyncIterator]();
    const number = (await said.next()).value;
    if (!number) throw new Error("Xvfb did not start");
    const screen = `:${number.trim()}`;
    started.push(spawn("openbox", { env: { ...process.env, DISPLAY: screen }, stdio: "ignore" }));
    await work(screen);
  } finally {
    for (const it of started.reverse()) {
      const ended = once(it, "exit");
      if (it.kill()) await ended;
    }
  }
}
