// What a person writes is not lost: node draft.mjs PACKAGES ADDRESS FOLDER. In the folder are adt.hl7, which is open,
// and other.hl7.
import { readFile, writeFile } from "node:fs/promises";
import { check, text, watched, withBrowser } from "./browser.mjs";
import { answered, asked, calm, click, press, sent, until, write } from "./studio.mjs";

const [address, folder] = process.argv.slice(3);
const onDisk = (name) => readFile(`${folder}/${name}`, "utf8");

await withBrowser(async (browser) => {
  const { page, wrong } = await watched(browser);
  await page.setViewport({ width: 1200, height: 1000 });
  const value = () => page.$eval("#text", (it) => it.value);
  const file = (name) => page.waitForFunction(
    (name) => document.getElementById("file").textContent.endsWith(name), {}, `/${name}`);
  const isMarked = (is) => page.waitForFunction((is) => document.getElementById("unsaved").hidden === !is
    && document.title.startsWith("●") === is, {}, is);
  const news = (said) => page.waitForFunction(
    (said) => document.getElementById("news").textContent === said, {}, said);
  const open = async (name) => {
    await click(page, ".actions", "Open…");
    await asked(page, "Open a message");
    await click(page, "#dialogue", `· ${name}`);
    await click(page, "#dialogue", "Open");
  };
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.waitForSelector("[data-command='editor/fill']");
  await until(page, "DOE^JANE");
  await isMarked(false);

  // What is typed and not saved is marked at once, and is not thrown away unasked.
  await write(page, "JANE", "TYPED");
  await isMarked(true);
  await page.screenshot({ path: `${folder}/draft-unsaved.png` });
  await open("other.hl7");
  await asked(page, "changes that are not saved");
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  check(await focused() === "dialogue", `the focus is on ${await focused()}`);
  await page.screenshot({ path: `${folder}/draft-guard.png` });
  await click(page, "#dialogue", "Cancel");
  await answered(page);
  check((await value()).includes("TYPED"), "the typed text is gone");
  await file("adt.hl7");
  await open("other.hl7");
  await asked(page, "changes that are not saved");
  await click(page, "#dialogue", "Save them, then open");
  await file("other.hl7");
  await until(page, "DOE^OTHER");
  await isMarked(false);
  check((await onDisk("adt.hl7")).includes("DOE^TYPED"), "it is not saved");
  check((await onDisk("other.hl7")).includes("DOE^OTHER"), "it is saved into the other");
  await write(page, "OTHER", "LOST");
  await open("adt.hl7");
  await asked(page, "changes that are not saved");
  await click(page, "#dialogue", "Discard them, then open");
  await until(page, "DOE^TYPED");
  check((await onDisk("other.hl7")).includes("DOE^OTHER"), "what was discarded is saved");

  // Undo and redo go over what extensions did, too, by key and by button.
  const before = await value();
  await press(page, "editor/fill");
  await until(page, "NK1||DOE^");
  const filled = await value();
  check((await page.$eval("#undo", (it) => it.title)).endsWith("by python3 editor.py"), "it says not whose change it is");
  const isText = (wanted) => page.waitForFunction((wanted) => document.getElementById("text").value === wanted, {}, wanted);
  await page.focus("#text");
  for (let steps = 0; await value() !== before; steps += 1) {
    check(steps < 20, "undo does not lead back");
    const now = await value();
    await page.keyboard.down("Control");
    await page.keyboard.press("z");
    await page.keyboard.up("Control");
    await page.waitForFunction((now) => document.getElementById("text").value !== now, {}, now);
  }
  await isMarked(false);
  while (!(await page.$eval("#redo", (it) => it.disabled))) {
    const now = await value();
    await click(page, ".actions", "Redo");
    await page.waitForFunction((now) => document.getElementById("text").value !== now, {}, now);
  }
  await isText(filled);

  // A file that another program changed, or that is there already, is not replaced unasked.
  await writeFile(`${folder}/adt.hl7`, "MSH|another program wrote this");
  await write(page, "TYPED", "MINE");
  await click(page, ".actions", "Save");
  await asked(page, "was changed by another program");
  await click(page, "#dialogue", "Cancel");
  await answered(page);
  check((await onDisk("adt.hl7")).includes("another program"), "it is replaced");
  await isMarked(true);
  await click(page, ".actions", "Save as…");
  await asked(page, "Save the message");
  await page.$eval("#dialogue input", (it) => { it.value = "other.hl7"; it.dispatchEvent(new Event("input")); });
  await click(page, "#dialogue", "Save");
  await asked(page, "exists already");
  await click(page, "#dialogue", "Cancel");
  await answered(page);
  check((await onDisk("other.hl7")).includes("DOE^OTHER"), "the other one is replaced");
  await click(page, ".actions", "Save");
  await asked(page, "was changed by another program");
  await click(page, "#dialogue", "Replace it");
  await news("saved");
  await isMarked(false);
  check((await onDisk("adt.hl7")).includes("DOE^MINE"), "it is not saved");

  // Two change different places: both stay. The same place: the person says which.
  const meanwhile = (from, to, elsewhere) => page.evaluate(async (from, to, elsewhere) => {
    const it = document.getElementById("text");
    const post = (deed) => fetch("/ui/extensions/do",
      { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(deed) });
    const { revision, text } = await (await fetch("/ui/extensions/document")).json();
    it.value = it.value.replace(from, to);
    it.dispatchEvent(new Event("input"));
    const done = await post(elsewhere.path ? { do: "open", ...elsewhere }
      : { do: "edit", revision, text: text.replace(elsewhere[0], elsewhere[1]) });
    return done.ok;
  }, from, to, elsewhere);
  check(await meanwhile("MINE", "HERE", ["|A|B|C|", "|A|ALSO|C|"]), "it is refused");
  await sent(page);
  await until(page, "|A|ALSO|C|");
  check((await value()).includes("DOE^HERE"), await value());
  check(await meanwhile("HERE", "HERE1", ["HERE", "HERE2"]), "it is refused");
  await page.waitForSelector("#conflict:not([hidden])");
  await page.screenshot({ path: `${folder}/draft-conflict.png` });
  await click(page, ".actions", "Save");
  await news("Say first which text is to stay.");
  await click(page, "#conflict", "Keep my text");
  await sent(page);
  await until(page, "DOE^HERE1");
  await click(page, ".actions", "Undo");
  await until(page, "DOE^HERE2");
  await sent(page);

  // Another page opens another message: what was typed into the first does not go there.
  check(await meanwhile("HERE2", "STRAY", { path: `${folder}/other.hl7`, discard: true }), "it is refused");
  await page.waitForSelector("#conflict:not([hidden])");
  check((await text(page, "#conflict")).includes("Another message was opened"), await text(page, "#conflict"));
  await click(page, "#conflict", "Go to the other message");
  await until(page, "DOE^OTHER");
  await file("other.hl7");
  await isMarked(false);

  // A dialogue that comes while the person types takes none of it.
  await page.evaluate(() => {
    const show = HTMLDialogElement.prototype.showModal;
    HTMLDialogElement.prototype.showModal = function shown() {
      show.call(this);
      window.taken = [" ", "Enter", "y", "Escape"].map((key) => {
        const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(event);
        return event.defaultPrevented;
      });
      window.isDeaf = this.querySelector(".box").inert;
    };
  });
  await press(page, "dialogues/all");
  await asked(page, "Are you sure?");
  check(JSON.stringify(await page.evaluate(() => window.taken)) === "[true,true,true,true]", "a key is taken");
  check(await page.evaluate(() => window.isDeaf), "an answer can be clicked at once");
  check(await focused() === "dialogue", `the focus is on ${await focused()}`);
  await page.keyboard.press("Space");
  await calm(page);
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  const waiting = await page.evaluate(async () =>
    (await (await fetch("/ui/extensions/state")).json()).questions.length);
  check(waiting === 1, "a space answered it");
  await page.screenshot({ path: `${folder}/draft-dialogue.png` });
  await click(page, "#dialogue", "No");
  await asked(page, "Then not.");
  await click(page, "#dialogue", "OK");
  await answered(page);

  // One that asks for ever, under a name that it chose, is stopped from outside of the dialogue.
  await press(page, "nag");
  await asked(page, "Buy?");
  const bar = await text(page, "#dialogue .asker");
  check(bar.includes("python3 nags.py") && !bar.includes("System"), bar);
  await click(page, "#dialogue", "No");
  await asked(page, "Buy?");
  await click(page, "#dialogue .asker", "Stop it");
  await answered(page);
  await page.waitForFunction(() => [...document.querySelectorAll(".card")].find((it) =>
    it.getAttribute("aria-label") === "python3 nags.py").querySelector(".state").textContent === "stopped");
  check(!(await page.$eval("#dialogue", (it) => it.open)), "it asks on");

  // What is not saved when all ends is kept in a file.
  await write(page, "OTHER", "UNSAVED");
  await sent(page);
  check(wrong.length === 0, wrong.join("\n"));
  console.log("ok");
});
