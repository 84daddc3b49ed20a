// What a person does on the page of extensions.
import { check, text } from "./browser.mjs";

/** Presses a command's button, as soon as its extension has told of it. */
export const press = (page, command) => page.locator(`[data-command=${JSON.stringify(command)}]`).click();
export const until = (page, part) => page.waitForFunction(
  (part) => document.getElementById("text").value.includes(part), {}, part);
export const logged = (page, part) => page.waitForFunction(
  (part) => document.getElementById("log").textContent.includes(part), {}, part);

/** The dialogue with this in it. */
export const asked = (page, part) => page.waitForFunction((part) => {
  const dialogue = document.getElementById("dialogue");
  return dialogue.open && dialogue.textContent.includes(part);
}, {}, part);

/** The dialogue listens, which it does not at first. */
export const calm = (page) => page.waitForFunction(() => document.querySelector("#dialogue .box:not([inert])"));

/** What was typed is where the message is. */
export const sent = (page) => page.waitForFunction(() => !document.getElementById("text").hasAttribute("data-own"));

/** Types as a person does it, at once. */
export const write = (page, from, to) => page.$eval("#text", (it, from, to) => {
  it.value = it.value.replace(from, to);
  it.dispatchEvent(new Event("input"));
}, from, to);

export const answered = (page) => page.waitForFunction(() => !document.getElementById("dialogue").open);

/** Clicks the button, or what else, that says so. */
export async function click(page, within, word, kind = "button") {
  const handle = await page.waitForFunction((within, word, kind) => [...document.querySelectorAll(`${within} ${kind}`)]
    .find((it) => it.textContent.trim() === word && !it.disabled && !it.closest("[inert]")), {}, within, word, kind);
  await handle.click();
}

/** Has a window opened, the way its bar in `place` offers. */
export async function opened(browser, page, command = "windows/open", place = "#windows") {
  check(!(await page.$(`${place} li`)), "the bar of a closed window is still there");
  const before = (await browser.pages()).length;
  await press(page, command);
  await page.waitForSelector(`${place} li`);
  const url = await text(page, `${place} .address`);
  check(/^http:\/\/127\.0\.0\.1:\d+\/$/.test(url), `the bar says ${url}`);
  check((await text(page, `${place} li`)).startsWith("python3 windows.py wants to open"), "the bar says not who");
  check((await browser.pages()).length === before, "a window opened without a click");
  const target = browser.waitForTarget((it) => it.url() === url);
  await click(page, place, "Open");
  const window = await (await target).page();
  await window.waitForFunction(() => document.body?.textContent.includes("A page of an extension."));
  const reaches = await window.evaluate(() => {
    try { return window.opener.document.body !== null; } catch { return false; }
  });
  check(!reaches, "the window reads our page");
  await sendAway(window, page);
  await page.waitForFunction((place) => document.querySelector(place).textContent.includes("has open http"), {}, place);
  return window;
}

/** What a window may try with the page that opened it: to show something else in its place. */
async function sendAway(window, page) {
  const here = page.url();
  await page.evaluate(() => { window.stays = true; });
  await window.evaluate(() => {
    for (const way of [(it) => it, (it) => it.parent, (it) => it.top, (it) => it.parent.parent]) {
      try { way(window.opener).location = "about:blank#away"; } catch { /* Refused, as it should be. */ }
    }
  });
  // A page that is on its way elsewhere does not come back to do this.
  await page.evaluate(() => fetch("/ui/extensions/state"));
  check(page.url() === here && await page.evaluate(() => window.stays), "the window sent our page away");
}

/** Waits until the extension has heard of so many closes. */
export const closes = (page, count) => page.waitForFunction((count) => (document.getElementById("log").textContent
  .match(/window closed: user/g)?.length ?? 0) === count, {}, count);

/** The page is not sure whether a window is closed: it has not told so, and does when the person says it. */
export async function closeAsked(page, count, place = "#windows") {
  await page.waitForFunction((place) => document.querySelector(place).textContent.includes("cannot see it"), {}, place);
  await closes(page, count - 1);
  await click(page, place, "It is closed");
  check(!(await page.$(`${place} li`)), "the bar of a closed window is still there");
  await closes(page, count);
}
