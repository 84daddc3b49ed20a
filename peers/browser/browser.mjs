// Chromium, with a screen or without, and a page that is watched for everything it must not do.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The first argument is where the packages were installed.
const packages = createRequire(`${process.argv[2]}/`);
const { default: puppeteer } = await import(pathToFileURL(packages.resolve("puppeteer-core")));

/** Nothing here takes so long, on a busy machine either; what waits longer has failed. */
export const FOR_EVER_MS = 600_000;

export function check(value, what) {
  if (!value) throw new Error(what);
}

/** Runs `work` with a browser, which ends whatever happens. It shows itself on `screen`, if there is one. */
export async function withBrowser(work, screen) {
  const executablePath = (process.env.PATH ?? "").split(":")
    .map((folder) => `${folder}/chromium`).find(existsSync);
  check(executablePath, "there is no chromium on the PATH");
  // Tests may run as root, where Chromium has no sandbox of its own; the pages are ours.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const env = screen ? { ...process.env, DISPLAY: screen } : process.env;
  const browser = await puppeteer.launch({ executablePath, args, env, headless: !screen });
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
}

/** A page, and what went wrong in it. */
export async function watched(browser) {
  const page = await browser.newPage();
  page.setDefaultTimeout(FOR_EVER_MS);
  const wrong = [];
  await page.exposeFunction("tellViolation", (text) => wrong.push(`policy: ${text}`));
  await page.evaluateOnNewDocument(() => {
    document.addEventListener("securitypolicyviolation",
      (event) => window.tellViolation(`${event.violatedDirective} ${event.blockedURI}`));
  });
  page.on("pageerror", (error) => wrong.push(`script: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrong.push(`dialogue: ${dialog.message()}`);
    dialog.dismiss();
  });
  return { page, wrong };
}

export const text = (page, selector) => page.$eval(selector, (found) => found.textContent);
