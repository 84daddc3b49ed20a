// A council's page: node council.mjs PACKAGES ADDRESS SCREENSHOT. The run behind it is held by the test, with
// plans that try to be more than text.
import { check, text, watched, withBrowser } from "./browser.mjs";

const [address, screenshot, mode] = process.argv.slice(3);

/** A run that ended without a plan: where it stopped, and how it goes on. */
async function lookAtStopped(page) {
  await page.waitForFunction(() => document.querySelector("#phases li"));
  const steps = await page.$$eval("#phases li", (all) => all.map((one) => one.textContent));
  check(steps.join() === "✓ starting,✓ planning,✗ judging,finalizing,✗ failed", `the phases: ${steps}`);
  check((await text(page, "#resume")).includes("althing resume "), "how it goes on is not said");
  await page.screenshot({ path: screenshot, fullPage: true });
}

/** The scores as blocks: all that is said of a plan can be read without a sideways scroll. */
async function lookAtNarrow(page) {
  await page.setViewport({ width: 375, height: 800 });
  const { across, why, shown } = await page.evaluate(() => {
    const cells = [...document.querySelectorAll("#scores td[data-column=Why]")];
    return {
      across: document.documentElement.scrollWidth,
      why: Math.min(...cells.map((cell) => cell.getBoundingClientRect().width)),
      shown: document.getElementById("compared").textContent,
    };
  });
  check(across <= 375 && why > 250, `${across} wide, ${why} for the reasons`);
  for (const part of ["It is short", "No rehearsal", "A backup"]) check(shown.includes(part), `no ${part}`);
  await page.screenshot({ path: screenshot.replace(".png", "-narrow.png"), fullPage: true });
  await page.setViewport({ width: 1200, height: 1000 });
}

const at = (page, phase) => page.waitForFunction(
  (phase) => document.querySelector("[aria-current=step]")?.textContent.includes(phase), {}, phase);

await withBrowser(async (browser) => {
  const { page, wrong } = await watched(browser);
  await page.setViewport({ width: 1200, height: 1000 });
  await page.goto(address, { waitUntil: "domcontentloaded" });
  check(!page.url().includes("token"), "the token stays in the address");
  if (mode === "stopped") {
    await lookAtStopped(page);
    return console.log("ok");
  }
  await page.waitForFunction(() => document.getElementById("connection").textContent === "live");
  await at(page, "planning");
  // Who works says so, with the attempt and when something last came from it.
  await page.waitForFunction(() => [...document.querySelectorAll("#planners .card")].some((card) =>
    ["works", "attempt 1 of 3", "last word"].every((part) => card.textContent.includes(part))));
  console.log("planning");

  // The service goes away while the run goes on; when it is back it says so, and wants its own key.
  await page.waitForFunction(() => document.getElementById("connection").textContent.includes("lost"));
  console.log("offline");
  const anew = await new Promise((resolve) => process.stdin.once("data", (data) => resolve(String(data).trim())));
  process.stdin.destroy();
  await page.waitForFunction(() => document.getElementById("connection").textContent.includes("started anew"));
  await page.goto(anew, { waitUntil: "domcontentloaded" });

  await at(page, "complete");
  await page.waitForFunction(() => !document.getElementById("settled").hidden);
  // What came by events is what the state says.
  const state = await page.evaluate(async () => (await fetch("/ui/state")).json());
  check(await text(page, "#plan") === state.final_plan, "the plan is not the state's");
  for (const member of [...state.planners, state.judge]) {
    const card = await text(page, `.card[aria-label=${JSON.stringify(member.id)}]`);
    const parts = [member.status, member.summary, `attempt ${member.attempt} of 3`, ...member.errors];
    for (const part of parts) check(card.includes(part), `no ${part} in the card of ${member.id}: ${card}`);
  }
  check(state.judge.status === "complete" && state.judge.summary !== "", JSON.stringify(state.judge));
  const failed = state.planners.filter((planner) => planner.status === "failed");
  check(failed.length === 1 && failed[0].errors.length === 1, JSON.stringify(failed));
  const warnings = await page.$$eval("#warnings li", (all) => all.map((one) => one.textContent));
  check(warnings.length === state.warnings.length && warnings[0].startsWith("A planner failed: "),
    `the warnings: ${warnings}`);
  check((await page.$$("#scores tr")).length === state.scores.length, "not every score is shown");

  await lookAtNarrow(page);
  // A status moves by its sign alone: its words keep their contrast.
  const moving = await page.evaluate(() => document.getAnimations().map(({ effect }) => effect.target.className));
  check(moving.every((name) => name === "pulse"), `what moves: ${moving}`);

  // Text that looks like markup is text.
  const plan = await text(page, "#plan");
  for (const part of ["<script>", "<img src=x onerror=", "\\u{202e}", "\\u{7}"]) {
    check(plan.includes(part), `${part} is not shown as text`);
  }
  const found = await page.evaluate(() => ({
    scripts: document.querySelectorAll("script").length,
    images: document.querySelectorAll("img").length,
    ran: window.ran,
  }));
  check(found.scripts === 1 && found.images === 0 && found.ran === undefined, JSON.stringify(found));

  // Everything can be reached by keyboard, and what has the focus can be seen.
  const reached = [];
  await page.evaluate(() => document.activeElement?.blur());
  for (let press = 0; press < 7; press++) {
    await page.keyboard.press("Tab");
    const { name, outline } = await page.evaluate(() => {
      const { id, className, textContent } = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return { name: id || className || textContent, outline: `${outlineStyle} ${outlineWidth}` };
    });
    reached.push(name);
    check(press > 4 || !/^none| 0px$/.test(outline), `the focus on ${name} is not seen: ${outline}`);
  }
  for (const wanted of ["skip", "brand", "copy", "download", "plan"]) {
    check(reached.includes(wanted), `${wanted} is not reached by Tab: ${reached}`);
  }
  await page.screenshot({ path: screenshot, fullPage: true });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check(ground === "rgb(20, 24, 26)", `no dark ground: ${ground}`);
  await page.screenshot({ path: screenshot.replace(".png", "-dark.png"), fullPage: true });

  // Whatever would get past us, the policy stops: a script in the page, and markup as text.
  const { page: tried } = await watched(browser);
  await tried.goto(page.url(), { waitUntil: "domcontentloaded" });
  const refused = await tried.evaluate(async () => {
    const told = new Promise((done) => {
      const all = [];
      document.addEventListener("securitypolicyviolation",
        (event) => all.push(event.effectiveDirective) === 2 && done(all));
    });
    const script = document.createElement("script");
    script.append("window.ran = 1");
    document.body.append(script);
    let error = "none";
    try {
      document.getElementById("plan").innerHTML = "<img src=x onerror='window.ran = 1'>";
    } catch ({ name }) {
      error = name;
    }
    return { told: await told, error, ran: "ran" in window, images: document.images.length };
  });
  const { told, error, ran, images } = refused;
  check(!ran && images === 0 && error === "TypeError", JSON.stringify(refused));
  check(told.every((one) => /^script-src|^require-trusted-types-for$/.test(one)), `refused by ${told}`);

  // A browser without the cookie stays outside.
  const stranger = await browser.createBrowserContext();
  const outside = await (await stranger.newPage()).goto(new URL("/ui/", address).href.split("?")[0]);
  check(outside.status() === 401, `without the token: ${outside.status()}`);
  check(wrong.length === 0, wrong.join("\n"));
  console.log("ok");
});
