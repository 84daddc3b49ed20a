// The page of extensions under `althing serve`: node served.mjs PACKAGES ADDRESS. No message is there at first.
import { check, text, watched, withBrowser } from "./browser.mjs";
import { asked, click, logged, press, until } from "./studio.mjs";

const [address] = process.argv.slice(3);

await withBrowser(async (browser) => {
  const { page, wrong } = await watched(browser);
  // From the page of councils, by the way that every page has.
  await page.goto(address, { waitUntil: "domcontentloaded" });
  check(await text(page, "nav [aria-current]") === "Council", "another page is marked");
  await Promise.all([page.waitForNavigation(), click(page, "nav", "Extensions", "a")]);
  check(!page.url().includes("token"), "the token stays in the address");
  check(await text(page, "nav [aria-current]") === "Extensions", "another page is marked");
  check(await page.title() === "Extensions · Althing", await page.title());
  await page.waitForFunction(() => document.getElementById("connection").textContent === "live");
  await page.waitForSelector("[data-command='editor/fill']");
  check(await text(page, "#file") === "No file", "there is a file");

  // Without a message an extension is refused; with one it changes it.
  await press(page, "editor/fill");
  await logged(page, "no message is open");
  await click(page, ".actions", "Open…");
  await asked(page, "Open a message");
  await click(page, "#dialogue", "· adt.hl7");
  await click(page, "#dialogue", "Open");
  await until(page, "DOE^JANE");
  await page.waitForFunction(() => document.getElementById("file").textContent.endsWith("/adt.hl7"));
  await page.waitForFunction(() => document.querySelector(".card .state").textContent === "failed");
  await click(page, ".card", "Start");
  await page.waitForSelector("[data-command='editor/fill']");
  await press(page, "editor/fill");
  await until(page, "NK1||DOE^");
  await click(page, ".actions", "Save");
  await page.waitForFunction(() => document.getElementById("news").textContent === "saved");
  check(wrong.length === 0, wrong.join("\n"));
  console.log("ok");
});
