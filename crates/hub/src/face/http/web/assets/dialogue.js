// One dialogue at a time, of the page itself or of an extension. It comes while the person may be typing:
// for a moment it takes no key and no click, and no answer has the focus unless the person puts it there.
import { element } from "/ui/frame.js";

/** How long there has to be no key before a dialogue listens. */
const CALM_MS = 700;

const dialogue = document.getElementById("dialogue");
let box;
let timer;
let away;
/** What is to happen when it is closed. */
let closed;

export const isOpen = () => dialogue.open;

/** Shows a dialogue. `bar` stands outside of its box and listens at once; what was not asked for by the person
 * `startles` and waits for a calm moment. `turnedAway` is what Escape does. */
export function present({ bar, title, said, more, startles, turnedAway, whenClosed }) {
  // What it stood for is shown again by whoever wants that.
  closed = undefined;
  if (dialogue.open) close();
  away = turnedAway;
  closed = whenClosed;
  box = element("section", { class: "box" }, element("h2", { id: "dialogue-title" }, title),
    said === undefined ? undefined : element("p", { class: "said", dir: "auto" }, said), more);
  dialogue.replaceChildren(...[bar, box].filter(Boolean));
  if (startles) calm();
  dialogue.showModal();
  // Not the first button: a space that was on its way would press it.
  const first = startles ? dialogue : box.querySelector("input, button:not(:disabled)");
  (first ?? dialogue).focus();
}

export function close() {
  clearTimeout(timer);
  box = undefined;
  if (dialogue.open) dialogue.close();
  const then = closed;
  closed = undefined;
  then?.();
}

/** A row of buttons: words and what they do. */
export function buttons(...pairs) {
  return element("p", { class: "actions" }, ...pairs.map(([word, click]) => {
    const made = element("button", { type: "button" }, word);
    made.addEventListener("click", click);
    return made;
  }));
}

function calm() {
  clearTimeout(timer);
  const waiting = box;
  waiting.inert = true;
  timer = setTimeout(() => { waiting.inert = false; }, CALM_MS);
}

for (const kind of ["keydown", "keypress", "keyup"]) {
  dialogue.addEventListener(kind, (event) => {
    if (!box?.inert) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    calm();
  }, { capture: true });
}
dialogue.addEventListener("cancel", (event) => {
  event.preventDefault();
  if (!box?.inert) away?.();
});
// Some browsers close it at the second Escape whatever they are told: that is the same answer.
dialogue.addEventListener("close", () => {
  if (!box || dialogue.open) return;
  away?.();
  close();
});
