// What a person does on the page of extensions.

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

export const answered = (page) => page.waitForFunction(() => !document.getElementById("dialogue").open);

/** Clicks the button, or what else, that says so. */
export async function click(page, within, word, kind = "button") {
  const handle = await page.waitForFunction((within, word, kind) => [...document.querySelectorAll(`${within} ${kind}`)]
    .find((it) => it.textContent.trim() === word && !it.disabled), {}, within, word, kind);
  await handle.click();
}
