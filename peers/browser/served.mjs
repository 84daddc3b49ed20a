// The page of extensions under `althing serve`: node served.mjs PACKAGES ADDRESS. No message is there at first.
import { check, text, watched, withBrowser } from "./browser.mjs";
import { answered, asked, click, logged, press, until } from "./studio.mjs";

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

  // Files are picked where its section says, and nowhere else; a question goes with its extension.
  await press(page, "dialogues/all");
  await asked(page, "Are you sure?");
  await click(page, "#dialogue", "Yes");
  await asked(page, "· one.hl7");
  check(!(await text(page, "#dialogue")).includes("the folder above"), "there is a way out of the folder");
  const refused = await page.evaluate(async () => {
    const state = await (await fetch("/ui/extensions/state")).json();
    const [question, revision] = [state.questions[0].id, state.revision];
    const take = async (deed) => (await fetch("/ui/extensions/do",
      { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(deed) })).status;
    const answer = (answer, to = question) => take({ do: "answer", question: to, answer });
    const above = document.querySelector("#dialogue div .who").textContent.replace(/\/sub$/, "");
    const folder = await fetch(`/ui/extensions/folder?question=${question}&path=${encodeURIComponent(above)}`);
    const said = {
      above: folder.status, file: await answer(["/etc/passwd"]), folder: await answer([`${above}/sub`]),
      kind: await answer(7), none: await answer([]), other: await answer(null, question + 1),
      window: await take({ do: "window_closed", window: "main" }),
      command: await take({ do: "command", command: "no/such" }),
      old: await take({ do: "edit", text: "x", revision: revision + 1 }),
    };
    await take({ do: "stop", extension: state.extensions[1].id });
    return JSON.stringify(said);
  });
  check(refused === '{"above":403,"file":403,"folder":400,"kind":400,"none":400,"other":404,"window":404,'
    + '"command":404,"old":409}', refused);
  await answered(page);
  await page.waitForFunction(() => document.querySelectorAll(".card .state")[1].textContent === "stopped");

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
