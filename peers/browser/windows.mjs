// Windows of extensions on a screen: node windows.mjs PACKAGES ADDRESS. That one is closed is told when it is, and
// never when it only looks so.
import { check, watched, withBrowser } from "./browser.mjs";
import { withScreen } from "./screen.mjs";
import { click, closeAsked, closes, opened, press } from "./studio.mjs";

const address = process.argv[3];

await withScreen((screen) => withBrowser(async (browser) => {
  const { page, wrong } = await watched(browser);
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.waitForSelector("[data-command='windows/open']");
  // The person is where the focus is, and the page looks now and then where that is.
  const isIn = (page) => page.waitForFunction(() => Document.prototype.hasFocus.call(document));
  const isHere = async () => { await page.bringToFront(); await isIn(page); };
  await page.evaluate(() => {
    document.hasFocus = () => {
      window.looks += 1;
      return Document.prototype.hasFocus.call(document);
    };
  });
  // However slow the machine is: to the page, the person is back at once.
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => window.stoppedAt ?? now();
  });
  const stopClock = () => page.evaluate(() => { window.stoppedAt = performance.now(); });
  const startClock = () => page.evaluate(() => { window.stoppedAt = undefined; });
  const looks = async () => {
    await page.evaluate(() => { window.looks = 0; });
    await page.waitForFunction(() => window.looks > 1);
  };
  await isHere();
  let count = 0;

  // The person is in the window, closes it and is back here, or its page closes itself.
  for (const close of [(window) => window.close(), (window) => window.evaluate(() => { globalThis.close(); })]) {
    const window = await opened(browser, page);
    await isIn(window);
    await looks();
    await closes(page, count);
    await stopClock();
    await close(window);
    await isIn(page);
    await closes(page, count += 1);
    await startClock();
    check(!(await page.$("#windows li")), "the bar of a closed window is still there");
  }

  // One that cuts itself off looks closed, at once or when it moves on, which it is not.
  await press(page, "windows/alone");
  const alone = browser.waitForTarget((it) => it.url().endsWith("/alone"));
  await click(page, "#windows", "Open");
  const apart = await (await alone).page();
  await closeAsked(page, count += 1);
  await apart.close();
  for (const isBehind of [false, true]) {
    const moving = await opened(browser, page);
    await isIn(moving);
    if (isBehind) await isHere();
    await looks();
    await moving.goto(new URL("/alone", moving.url()).href);
    await closeAsked(page, count += 1);
    await moving.close();
  }

  // Closed behind the person's back.
  const behind = await opened(browser, page);
  await isIn(behind);
  await isHere();
  await looks();
  await behind.close();
  await closeAsked(page, count += 1);
  check(wrong.length === 0, wrong.join("\n"));
  console.log("ok");
}, screen));
