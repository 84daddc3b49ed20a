// What every page shares: making elements out of text, which is never markup, and following a stream
// of events that may break off.

/** An element with attributes and children; text stays text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

export function show(id, visible) {
  document.getElementById(id).hidden = !visible;
}

/** Puts `text` there, only where it is news: a screen reader then says it once. */
export function tell(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text;
}

/** One line for each text. */
export function list(id, texts) {
  document.getElementById(id).replaceChildren(...texts.map((text) => element("li", {}, text)));
  show(id, texts.length > 0);
}

/** `3 s ago`; nothing where there is no time. */
export function ago(timestamp, now) {
  if (!timestamp) return "";
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000));
  return seconds < 90 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

/** `1 min 5 s`. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Follows a stream of events. The browser comes back by itself and names the last event it had; where
 *  it has given up, so do we not. */
export function follow(address, take) {
  const source = new EventSource(address());
  source.onopen = () => tell("connection", "live");
  source.onmessage = (event) => take(JSON.parse(event.data), event.lastEventId);
  source.onerror = async () => {
    const lost = "connection lost, trying again";
    if (source.readyState !== EventSource.CLOSED) return tell("connection", lost);
    tell("connection", (await isAnew()) ? "started anew: open the address that was printed then" : lost);
    setTimeout(() => follow(address, take), 2000);
  };
}

/** Whether the service was started again: each start has a key of its own, and lets in no page of the one
 *  before until the person has opened its address. */
async function isAnew() {
  const answer = await fetch("/ui/icon.svg").catch(() => undefined);
  return answer?.status === 401;
}
