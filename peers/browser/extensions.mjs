// The page of extensions: node extensions.mjs PACKAGES ADDRESS SCREENSHOT. Behind it are the examples and one
// whose texts try to be more than text.
import { check, text, watched, withBrowser } from "./browser.mjs";
import { answered, asked, calm, click, closeAsked, logged, opened, press, sent, until, write } from "./studio.mjs";

const [address, screenshot] = process.argv.slice(3);

await withBrowser(async (browser) => {
  const { page, wrong } = await watched(browser);
  await page.setViewport({ width: 1200, height: 1000 });
  await page.goto(address, { waitUntil: "domcontentloaded" });
  check(!page.url().includes("token"), "the token stays in the address");
  await page.waitForFunction(() => document.getElementById("connection").textContent === "live");
  for (const command of ["echo/show", "editor/fill", "dialogues/all", "windows/open", "hostile/say"]) {
    await page.waitForSelector(`[data-command="${command}"]`);
  }
  const icon = "[data-command='echo/show'] img";
  await page.waitForFunction((icon) => document.querySelector(icon)?.naturalWidth > 0, {}, icon);
  const group = await page.$$eval("#toolbar [role=group][aria-label=Windows] button",
    (all) => all.map((it) => it.dataset.command).join(" "));
  check(group === "windows/open windows/close", `the group has ${group}`);

  // What an extension says of the field in which the caret is.
  const caret = (part) => page.$eval("#text", (it, part) => {
    it.focus();
    it.setSelectionRange(it.value.indexOf(part), it.value.indexOf(part));
  }, part);
  for (const [part, said] of [["DOE", "PID.5.1: Family name · required"], ["JANE", "PID.5.2"], ["ADT^", "MSH.9.1"]]) {
    await caret(part);
    await page.waitForFunction((said) => document.getElementById("field").textContent === said, {}, said);
  }

  // A command with a message, by keyboard.
  await page.focus("[data-command='echo/show']");
  await page.keyboard.press("Enter");
  await asked(page, "1: MSH|");
  await calm(page);
  await page.keyboard.press("Escape");
  await answered(page);

  // A field that an extension patches.
  await press(page, "editor/fill");
  await until(page, "NK1||DOE^");

  // A confirmation, and files of all kinds.
  await press(page, "dialogues/all");
  await asked(page, "Are you sure?");
  await page.screenshot({ path: screenshot.replace(".png", "-confirm.png") });
  await click(page, "#dialogue", "Yes");
  await asked(page, "One file");
  await click(page, "#dialogue", "▸ sub");
  await click(page, "#dialogue", "· one.hl7");
  await page.screenshot({ path: screenshot.replace(".png", "-picker.png") });
  await click(page, "#dialogue", "Open");
  await asked(page, "Many files");
  await click(page, "#dialogue", "▸ sub");
  await click(page, "#dialogue", "· one.hl7");
  await click(page, "#dialogue", "· two.txt");
  await click(page, "#dialogue", "Open");
  await asked(page, "Save");
  await click(page, "#dialogue", "Save");
  await asked(page, "Take this folder");
  await click(page, "#dialogue", "▸ sub");
  await page.waitForFunction(() => document.querySelector("#dialogue .who + * .who, #dialogue div .who")
    ?.textContent.endsWith("/sub"));
  await click(page, "#dialogue", "Take this folder");
  await until(page, "NTE|||one=");
  await answered(page);
  const note = (await page.$eval("#text", (it) => it.value)).split("\n").find((line) => line.startsWith("NTE"));
  check(/one=\S+\/sub\/one\.hl7 many=\S+\/sub\/one\.hl7,\S+\/sub\/two\.txt save=\S+\/out\.hl7 folder=\S+\/sub$/
    .test(note), note);

  // A window opens by a click, and its closing reaches the extension; then the other way round. Without a screen
  // every page has the focus, so that only the person can be sure: windows.mjs is with one.
  await page.evaluate(() => {
    const opener = document.getElementById("opener").contentWindow;
    const open = opener.open.bind(opener);
    opener.open = (url, name, features) => {
      window.features = features;
      return open(url, name, features);
    };
  });
  const first = await opened(browser, page);
  await first.close();
  await closeAsked(page, 1);
  const second = await opened(browser, page);
  const closed = new Promise((resolve) => second.once("close", resolve));
  await press(page, "windows/close");
  await closed;
  await logged(page, "window closed: extension");
  await page.waitForFunction(() => !document.querySelector("#windows li"));

  // For a modal one the rest of the page waits, whatever the person presses.
  const isFree = () => page.$eval("#text", (it) => { it.focus(); return document.activeElement === it; });
  check(await isFree(), "the page waits for nothing");
  const modal = await opened(browser, page, "windows/modal", "#modal");
  check(await page.evaluate(() => window.features) === "popup,width=640,height=480,resizable=no", "other features");
  await page.bringToFront();
  for (let press = 0; press < 3; press += 1) await page.keyboard.press("Escape");
  check(!(await isFree()), "the page does not wait for a modal window");
  await modal.close();
  await closeAsked(page, 2, "#modal");
  await page.waitForFunction(() => !document.getElementById("modal").open);
  check(await isFree(), "the page still waits");

  // Text that looks like markup is text, and an icon is a picture of shapes.
  await press(page, "hostile/say");
  await asked(page, "<img src=x onerror=");
  await click(page, "#dialogue", "OK");
  await answered(page);
  const found = await page.evaluate(async () => ({
    scripts: document.querySelectorAll("script").length,
    inline: document.querySelectorAll("main svg, dialog svg").length,
    ran: window.ran,
    icon: await (await fetch(document.querySelector("[data-command='hostile/say'] img").src)).text(),
  }));
  check(found.scripts === 1 && found.inline === 0 && found.ran === undefined, JSON.stringify(found));
  check(found.icon.includes("<rect") && !/script|onload|href/.test(found.icon), found.icon);

  // What the person types is what extensions see; what is not allowed is refused.
  await write(page, "JANE", "MARY");
  await sent(page);
  await click(page, ".actions", "Save");
  await page.waitForFunction(() => document.getElementById("news").textContent === "saved");
  await logged(page, "/adt.hl7 false");
  const answers = await page.evaluate(async () => {
    const post = (type, body) => fetch("/ui/extensions/do", { method: "POST", headers: { "content-type": type }, body });
    return {
      outside: (await fetch("/ui/extensions/folder?path=/etc")).status,
      open: (await post("application/json", '{"do":"open","path":"/etc/passwd"}')).status,
      form: (await post("text/plain", '{"do":"save"}')).status,
      bad: (await post("application/json", '{"do":"nothing"}')).status,
      text: (await (await fetch("/ui/extensions/document")).json()).text,
    };
  });
  check(answers.text.includes("DOE^MARY\r") || answers.text.includes("DOE^MARY|"), answers.text);
  delete answers.text;
  check(JSON.stringify(answers) === '{"outside":403,"open":403,"form":415,"bad":400}', JSON.stringify(answers));

  // Who types a name before the folder is there waits for it.
  await page.evaluate(async () => {
    const { pick } = await import("/ui/picker.js");
    const shown = pick({ pick: "saveFile", filters: [] }, () => new Promise(() => {}), () => {});
    shown.querySelector("input").dispatchEvent(new Event("input"));
  });

  // Saved elsewhere, and another one opened: extensions hear of both.
  await click(page, ".actions", "Save as…");
  await asked(page, "Save the message");
  await page.$eval("#dialogue input", (it) => { it.value = "copy.hl7"; it.dispatchEvent(new Event("input")); });
  await click(page, "#dialogue", "Save");
  await logged(page, "/copy.hl7 true");
  await page.waitForFunction(() => document.getElementById("file").textContent.endsWith("/copy.hl7"));
  await click(page, ".actions", "Open…");
  await asked(page, "Open a message");
  await click(page, "#dialogue", "· mixed.hl7");
  await click(page, "#dialogue", "Open");
  await until(page, "DOE^MIXED");
  await logged(page, "/mixed.hl7");

  // What the person does not touch keeps its line end, whatever they do around it.
  const type = async (from, to) => {
    await write(page, from, to);
    await sent(page);
    return page.evaluate(async () => (await (await fetch("/ui/extensions/document")).json()).text);
  };
  for (const [from, to, want] of [
    ["MIXED", "TYPED", "MSH|^~\\&|M\r\nPID|1||2||DOE^TYPED\nNTE|1\rNTE|2\n\rNTE|3"],
    ["NTE|2", "NTE|x\nNTE|y", "MSH|^~\\&|M\r\nPID|1||2||DOE^TYPED\nNTE|1\rNTE|x\nNTE|y\r\n\rNTE|3"],
    ["NTE|x\nNTE|y\n\n", "", "MSH|^~\\&|M\r\nPID|1||2||DOE^TYPED\nNTE|1\rNTE|3"],
    ["NTE|3", "NTE|3\nNTE|4", "MSH|^~\\&|M\r\nPID|1||2||DOE^TYPED\nNTE|1\rNTE|3\r\nNTE|4"],
  ]) {
    const found = await type(from, to);
    check(found === want, JSON.stringify([found, want]));
  }

  // The log by extension, by level and by words.
  const events = await page.$$eval("#log-extension option", (all) => all.find((it) => it.textContent === "node events.mjs").value);
  await page.select("#log-extension", events);
  await page.waitForFunction(() => [...document.querySelectorAll("#log li")].every((it) => it.textContent.includes("node events.mjs,")));
  await logged(page, "opened: ");
  await page.select("#log-extension", "");
  await page.select("#log-level", "1");
  await page.waitForFunction(() => !document.getElementById("log").textContent.includes("window closed"));
  await logged(page, "PID.5.1xyz");
  await page.select("#log-level", "0");
  await page.type("#log-text", "window closed");
  await page.waitForFunction(() => document.querySelectorAll("#log li").length === 3);
  await page.$eval("#log-text", (it) => { it.value = ""; it.dispatchEvent(new Event("input")); });
  await page.screenshot({ path: screenshot, fullPage: true });
  check(wrong.length === 0, wrong.join("\n"));
  console.log("ok");
});
