// The message in the editor. There is one, and the service has it: what the person types goes there as
// soon as they pause, and what others do to it comes from there. Undo and redo are the service's, too.
import { show, tell } from "/ui/frame.js";
import { merged, movedBy, toKeep, toShow } from "/ui/text.js";

/** A pause in typing after which the text is sent; while nobody pauses it is sent now and then. */
const PAUSE_MS = 400;
const TYPING_MS_MAX = 2000;

const area = document.getElementById("text");
/** What the textarea was last filled with, as the service has it. */
let base = { revision: -1, opened: -1, text: "" };
/** What others did to the same place while the person typed; nothing goes on before that is settled. */
let theirs;
let timer;
/** When the first thing was typed that is not sent yet, and whether it goes on with what was sent before. */
let since;
let joins = false;
let sending = Promise.resolve(true);
let services;

/** `post` does a deed and gives the answer, `fetch` gets the message, `changed` draws. */
export function begin(given) {
  services = given;
}

export const revision = () => base.revision;
export const isUnsent = () => area.value !== toShow(base.text);
export const isStuck = () => theirs !== undefined;

function usualEnd() {
  return services.form() === "hl7" ? "\r" : "\n";
}

/** Puts a text there; the caret stays where it was in it. */
function put(text) {
  const [before, start, end] = [area.value, area.selectionStart, area.selectionEnd];
  if (before === text) return;
  area.value = text;
  area.setSelectionRange(movedBy(before, text, start), movedBy(before, text, end));
}

function typed() {
  since ??= performance.now();
  clearTimeout(timer);
  const left = since + TYPING_MS_MAX - performance.now();
  timer = setTimeout(() => {
    const goesOn = left < PAUSE_MS;
    send().then(() => { joins = goesOn; });
  }, Math.max(0, Math.min(PAUSE_MS, left)));
  services.changed();
}

/** Sends what was typed; false if that cannot be, and then whatever wanted it must not go on. */
export function send() {
  clearTimeout(timer);
  sending = sending.catch(() => false).then(sendNow);
  return sending;
}

async function sendNow() {
  // More may be typed while it is sent.
  while (isUnsent()) {
    if (theirs) return refuse();
    const text = toKeep(area.value, base.text, usualEnd());
    const sent = { ...base, revision: base.revision + 1, text };
    const answer = await services.post({ do: "edit", text, revision: base.revision, joins });
    if (answer.ok) {
      base = sent;
      since = undefined;
      joins = false;
    } else if (answer.status === 409) {
      await meet(await services.fetch());
    } else {
      tell("news", (await answer.text()).trim());
      return false;
    }
    services.changed();
  }
  return theirs ? refuse() : true;
}

function refuse() {
  tell("news", "Say first which text is to stay.");
  show("conflict", true);
  document.getElementById("conflict").scrollIntoView({ block: "nearest" });
  return false;
}

/** Takes what the service has now, with what the person has typed meanwhile. */
async function meet(found) {
  const [was, mine, now] = [toShow(base.text), area.value, toShow(found.text)];
  const isSame = found.opened === base.opened;
  const both = isSame ? merged(was, mine, now) : undefined;
  if (mine === was || mine === now) put(now);
  else if (both !== undefined) put(both);
  else if (!isSame || now !== was) {
    theirs = found;
    tell("conflict-text", !isSame
      ? "Another message was opened while you typed. What you typed is not in it; copy what you need."
      : "The message was changed where you were typing.");
    show("conflict-mine", isSame);
    tell("conflict-theirs", isSame ? "Take the other text" : "Go to the other message");
    area.readOnly = true;
    return show("conflict", true);
  }
  base = found;
}

/** Looks at what the service has. */
export function look() {
  sending = sending.catch(() => false).then(async (done) => {
    if (!theirs) await meet(await services.fetch());
    services.changed();
    if (isUnsent() && !theirs) typed();
    return done;
  });
  return sending;
}

/** Ends the conflict, with one of the two texts; undo gives the other. */
function settle(isMine) {
  base = theirs;
  theirs = undefined;
  area.readOnly = false;
  show("conflict", false);
  if (!isMine) put(toShow(base.text));
  services.changed();
  send();
}

/** Takes a step back or forth, after what was typed. */
export async function step(deed) {
  if (!(await send())) return;
  const answer = await services.post({ do: deed });
  if (!answer.ok) tell("news", (await answer.text()).trim());
  await services.load();
}

area.addEventListener("input", () => {
  // What was said of the text before is no news any more.
  tell("news", "");
  typed();
});
// The browser's own steps know nothing of what others did.
area.addEventListener("beforeinput", (event) => {
  const deed = { historyUndo: "undo", historyRedo: "redo" }[event.inputType];
  if (!deed) return;
  event.preventDefault();
  step(deed);
});
area.addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== "z" && key !== "y")) return;
  event.preventDefault();
  step(key === "y" || event.shiftKey ? "redo" : "undo");
});
document.getElementById("conflict-mine").addEventListener("click", () => settle(true));
document.getElementById("conflict-theirs").addEventListener("click", () => settle(false));
window.addEventListener("beforeunload", (event) => { if (isUnsent()) event.preventDefault(); });
