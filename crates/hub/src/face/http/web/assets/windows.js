// Windows of extensions. The person opens each, since a browser blocks what nobody clicked; that one is
// closed is said only when it is sure. While there is a modal one, the rest of the page waits for it.
import { element, tell } from "/ui/frame.js";

/** How often an open window is looked at. */
const LOOK_MS = 300;
/** How long after a close the person may take to be back here; then only he can say that it was one. */
const BACK_MS = 1000;

/** By id: the handle, whether its page has been seen there, whether the person was then elsewhere than
 * here, since when it looks closed, and whether it is out of our sight. */
const known = new Map();
/** Ids of those that were closed here and may still be in what the service last said. */
const closed = new Set();
let wanted = [];
let act;

export function drawWindows(windows, does) {
  act = does;
  for (const id of closed) {
    if (!windows.some((window) => window.id === id)) closed.delete(id);
  }
  wanted = windows.filter((window) => !closed.has(window.id));
  for (const [id, it] of known) {
    if (windows.some((window) => window.id === id)) continue;
    // Its extension closed it.
    it.handle.close();
    known.delete(id);
  }
  draw();
}

function draw() {
  drawBars("windows", wanted.filter((window) => !window.modal));
  const modal = wanted.filter((window) => window.modal);
  drawBars("modal-windows", modal);
  const dialogue = document.getElementById("modal");
  if (modal.length > 0 && !dialogue.open) dialogue.showModal();
  if (modal.length === 0 && dialogue.open) dialogue.close();
}

function drawBars(id, windows) {
  const place = document.getElementById(id);
  const rows = windows.map((window) => ({ window, at: stand(window.id) }));
  const text = JSON.stringify(rows);
  if (place.dataset.drawn === text) return;
  place.dataset.drawn = text;
  place.replaceChildren(...rows.map(({ window, at }) => bar(window, at)));
}

function stand(id) {
  const it = known.get(id);
  if (!it) return "asked";
  if (it.lost) return "lost";
  return it.seen ? "open" : "opening";
}

function bar(window, at) {
  const what = { asked: "wants to open", opening: "is opening", open: "has open", lost: "may have open, where this page cannot see it," }[at];
  // As a browser reads it: what is before the host, behind it or in other letters cannot pass for the host.
  const { protocol, host, href } = URL.parse(window.url) ?? { protocol: "", host: "", href: window.url };
  const address = element("span", { class: "address" }, `${protocol}//`, element("strong", {}, host),
    href.slice(href.indexOf(host) + host.length));
  const title = window.title ? element("span", {}, " (", element("bdi", {}, window.title), ")") : undefined;
  const line = element("p", {}, element("bdi", {}, window.name ?? "An extension"), ` ${what} `, address, title);
  const button = (word, click) => {
    const made = element("button", { type: "button" }, word);
    made.addEventListener("click", click);
    return made;
  };
  const open = at === "asked" ? button("Open", () => openWindow(window))
    : at === "open" ? button("Show", () => known.get(window.id)?.handle.focus()) : undefined;
  const close = button({ asked: "Do not open", opening: "Close", open: "Close", lost: "It is closed" }[at], () => {
    known.get(window.id)?.handle.close();
    gone(window.id);
  });
  return element("li", { "data-window": window.id }, line, open, close);
}

function openWindow(window) {
  if (!/^https?:$/.test(URL.parse(window.url)?.protocol)) return tell("news", "That is no address to open.");
  // That the size is fixed is a wish: browsers of today let the person change it all the same.
  const fixed = window.resizable ? "" : ",resizable=no";
  const features = `popup,width=${window.width},height=${window.height}${fixed}`;
  const opener = document.getElementById("opener").contentWindow;
  const handle = opener.open("about:blank", "_blank", features);
  if (!handle) return tell("news", "The browser blocked the window; allow windows for this page.");
  // A window may send its opener elsewhere, so that is an empty frame: Chromium lets it reach no further, and
  // this page close it. Where that is not known it has no opener, and the person may have to close it.
  if (!navigator.userAgentData) handle.opener = null;
  handle.location.replace(window.url);
  known.set(window.id, { handle, seen: false, away: false, closedAt: undefined, lost: false });
  draw();
}

/** Whether a page is there: one of another site cannot be read, and that shows that it is. */
function isThere(handle) {
  try {
    return handle.location.href !== "about:blank";
  } catch {
    return true;
  }
}

function gone(id) {
  known.delete(id);
  closed.add(id);
  wanted = wanted.filter((window) => window.id !== id);
  act({ do: "window_closed", window: id });
  draw();
}

// Escape does not do what the person has to decide. A browser that does not know `closedby` lets it close the
// dialogue at the second time.
document.getElementById("modal").addEventListener("cancel", (event) => event.preventDefault());
document.getElementById("modal").addEventListener("close", draw);

// A page may cut itself off from ours at any time, and looks closed then. One that was seen is surely closed
// when the person was elsewhere and is back here with it; else only the person knows.
setInterval(() => {
  for (const [id, it] of known) {
    if (it.lost) continue;
    const isHere = document.hasFocus();
    if (!it.handle.closed) {
      it.away = !isHere;
      if (!it.seen && isThere(it.handle)) { it.seen = true; draw(); }
      continue;
    }
    it.closedAt ??= performance.now();
    const mayBeSure = it.seen && it.away && performance.now() - it.closedAt < BACK_MS;
    if (mayBeSure && isHere) { gone(id); continue; }
    if (!mayBeSure) { it.lost = true; draw(); }
  }
}, LOOK_MS);
