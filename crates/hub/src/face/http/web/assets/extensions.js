// The page of extensions: the message, their buttons, questions, windows and logs. One state, fetched
// whole when something changed; all text of extensions is text.
import { element, follow, show, tell } from "/ui/frame.js";
import { pick } from "/ui/picker.js";
import { described, placeAt, toKeep, toShow } from "/ui/text.js";
import { drawWindows } from "/ui/windows.js";

const LEVELS = { info: 0, warning: 1, error: 2 };
const SIGNS = { info: " ", warning: "!", error: "✗" };
const LINES_MAX = 1000;
const KINDS = { info: "Message", warning: "Warning", error: "Error" };

const at = (id) => document.getElementById(id);
let state;
let lines = [];
/** What the textarea was filled with, and whether the person has changed it since. */
let shown = { revision: -1, text: "" };
/** The question on the screen. */
let asked;
/** What extensions say about fields. */
let schema;

async function ask(path) {
  const answer = await fetch(`/ui/extensions/${path}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** Does something; what is refused is told. */
async function act(deed) {
  const answer = await fetch("/ui/extensions/do", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(deed),
  });
  if (answer.ok) return true;
  tell("news", (await answer.text()).trim());
  return false;
}

let loading;
let again = false;
/** One at a time; what changes meanwhile is fetched afterwards. */
function load() {
  if (loading) { again = true; return loading; }
  loading = (async () => {
    do {
      again = false;
      state = await ask("state");
      if (state.configured && state.revision !== shown.revision) await loadText();
      draw();
    } while (again);
  })().finally(() => { loading = undefined; });
  return loading;
}

const isOwn = () => at("text").value !== toShow(shown.text);

async function loadText() {
  const had = isOwn();
  const found = await ask("document");
  shown = found;
  if (had && isOwn()) return tell("news", "The message changed while you typed: Revert shows it, Apply puts yours over it.");
  at("text").value = toShow(shown.text);
}

async function apply() {
  if (!isOwn()) return true;
  const text = toKeep(at("text").value, shown.text, state.form === "hl7" ? "\r" : "\n");
  const done = await act({ do: "edit", text, revision: shown.revision });
  if (done) { tell("news", "applied"); await load(); }
  return done;
}

function draw() {
  show("idle", !state.configured);
  show("studio", state.configured);
  if (!state.configured) return;
  tell("file", state.file ?? "No file");
  tell("form", state.form);
  drawEditor();
  drawToolbar();
  drawExtensions();
  drawWindows(state.windows, act);
  drawQuestion();
  drawLog();
}

function drawEditor() {
  const own = isOwn();
  at("text").toggleAttribute("data-own", own);
  at("apply").disabled = !own;
  at("revert").disabled = !own;
  at("save").disabled = !state.file;
  drawField();
}

/** Where the caret is, and what extensions say of that place. */
function drawField() {
  const place = state.form === "hl7" ? placeAt(at("text").value, at("text").selectionStart) : undefined;
  const path = place && `${place.segment}.${place.field}.${place.component}`;
  tell("field", [path, place && described(place, schema)].filter(Boolean).join(": "));
}

async function loadSchema() {
  try {
    schema = await ask("schema");
    drawField();
  } catch (error) {
    tell("news", String(error.message ?? error));
  }
}

/** What a part of the page was last drawn from: what did not change keeps its focus. */
const drawn = {};
function isNew(part, value) {
  const text = JSON.stringify(value);
  if (drawn[part] === text) return false;
  drawn[part] = text;
  return true;
}

function drawToolbar() {
  const running = state.extensions.filter((it) => it.state === "running");
  if (!isNew("toolbar", running.map((it) => [it.id, it.buttons, it.commands]))) return;
  const buttons = running.flatMap((extension) => {
    const own = grouped(extension);
    const taken = extension.buttons.map((button) => button.command);
    const bare = extension.commands.filter((command) => !taken.includes(command))
      .map((command) => commandButton(extension, { label: command, command, icon: false }));
    return [...own, ...bare];
  });
  at("toolbar").replaceChildren(...buttons);
}

/** The buttons of an extension; those of one group stand together, where the first of them does. */
function grouped(extension) {
  const groups = new Map();
  for (const button of extension.buttons) {
    const key = button.group ? `group ${button.group}` : `button ${button.id}`;
    if (!groups.has(key)) groups.set(key, { name: button.group, buttons: [] });
    groups.get(key).buttons.push(commandButton(extension, button));
  }
  return [...groups.values()].flatMap(({ name, buttons }) => (name
    ? [element("div", { class: "group", role: "group", "aria-label": name }, ...buttons)] : buttons));
}

function commandButton(extension, button) {
  const query = new URLSearchParams({ extension: extension.id, button: button.id ?? "" });
  const icon = button.icon
    ? element("img", { src: `/ui/extensions/icon?${query}`, alt: "", width: "20", height: "20" }) : undefined;
  const made = element("button", { type: "button", "data-command": button.command,
    title: `${extension.name}: ${button.command}` }, icon, button.label);
  made.addEventListener("click", async () => {
    if (await apply()) await act({ do: "command", command: button.command });
  });
  return made;
}

function drawExtensions() {
  if (!isNew("extensions", state.extensions.map((it) => ({ ...it, open_requests: 0 })))) return;
  loadSchema();
  at("extensions").replaceChildren(...state.extensions.map((it) => {
    const reload = element("button", { type: "button" }, it.state === "running" ? "Reload" : "Start");
    reload.addEventListener("click", () => act({ do: "reload", extension: it.id }));
    const stop = element("button", { type: "button" }, "Stop");
    stop.disabled = it.state !== "running";
    stop.addEventListener("click", () => act({ do: "stop", extension: it.id }));
    return element("article", { class: "card", "aria-label": it.name },
      element("h3", {}, it.name, element("span", { class: "state", "data-state": it.state },
        it.state.replaceAll("_", " "))),
      element("p", {}, [it.configured, it.version ?? "", it.description ?? ""].filter(Boolean).join(" · ")),
      it.reason ? element("p", { class: "reason" }, it.reason) : undefined,
      element("p", { class: "actions" }, reload, stop));
  }));
  const names = state.extensions.map((it) => element("option", { value: it.id }, it.name));
  const chosen = at("log-extension").value;
  at("log-extension").replaceChildren(element("option", { value: "" }, "all"), ...names);
  at("log-extension").value = chosen;
}

function drawQuestion() {
  const first = state.questions[0];
  if (first?.id === asked) return;
  const dialogue = at("dialogue");
  asked = first?.id;
  if (dialogue.open) dialogue.close();
  if (!first) return;
  const answer = (said) => act({ do: "answer", question: first.id, answer: said });
  const title = element("h2", { id: "dialogue-title" }, first.title ?? KINDS[first.kind] ?? "Question");
  const who = element("p", { class: "who" }, `${first.name} asks`);
  const away = { message: true, confirm: false, files: null }[first.ask];
  dialogue.oncancel = (event) => { event.preventDefault(); answer(away); };
  if (first.ask === "files") {
    dialogue.replaceChildren(who, title, pick(first, (path) => folder(path, first.id), answer));
  } else {
    const words = first.ask === "message" ? [["OK", true]]
      : first.buttons === "okCancel" ? [["OK", true], ["Cancel", false]] : [["Yes", true], ["No", false]];
    const buttons = words.map(([word, said]) => {
      const made = element("button", { type: "button" }, word);
      made.addEventListener("click", () => answer(said));
      return made;
    });
    dialogue.replaceChildren(who, title, element("p", { class: "said" }, first.message),
      element("p", { class: "actions" }, ...buttons));
  }
  dialogue.showModal();
}

function folder(path, question) {
  const query = new URLSearchParams();
  if (question !== undefined) query.set("question", question);
  if (path) query.set("path", path);
  return ask(`folder?${query}`);
}

/** A file for the message itself. */
function choose(kind, title, then) {
  const dialogue = at("dialogue");
  const name = state.file?.split("/").at(-1) ?? "message.hl7";
  const wish = { pick: kind, defaultName: name, filters: [] };
  const done = (paths) => { dialogue.close(); if (paths) then(paths[0]); };
  dialogue.oncancel = null;
  dialogue.replaceChildren(element("h2", { id: "dialogue-title" }, title), pick(wish, (path) => folder(path), done));
  dialogue.showModal();
}

function drawLog() {
  const [extension, level] = [at("log-extension").value, Number(at("log-level").value)];
  const part = at("log-text").value.toLowerCase();
  const name = (id) => state.extensions.find((it) => it.id === id)?.name ?? id;
  const fits = ({ extension: id, line }) => (!extension || id === extension)
    && LEVELS[line.level] >= level && line.text.toLowerCase().includes(part);
  const place = at("log");
  const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 40;
  place.replaceChildren(...lines.filter(fits).map(({ extension: id, line }) => element("li",
    { "data-level": line.level },
    `${SIGNS[line.level]} ${(line.at_ms / 1000).toFixed(1)} s  ${name(id)}, ${line.source}: ${line.text}`)));
  if (atEnd) place.scrollTop = place.scrollHeight;
}

async function take(message) {
  try {
    if (message.type === "logged") {
      lines = [...lines, ...message.lines].slice(-LINES_MAX);
      return drawLog();
    }
    if (message.type === "all") lines = (await ask("log")).lines.sort((a, b) => a.line.at_ms - b.line.at_ms);
    await load();
  } catch (error) {
    tell("news", String(error.message ?? error));
  }
}

at("text").addEventListener("input", drawEditor);
document.addEventListener("selectionchange", () => { if (state?.configured) drawField(); });
at("apply").addEventListener("click", apply);
at("revert").addEventListener("click", () => { at("text").value = toShow(shown.text); drawEditor(); });
at("open").addEventListener("click", () => choose("openFile", "Open a message", (path) => act({ do: "open", path })));
at("save").addEventListener("click", async () => {
  if (await apply() && await act({ do: "save" })) tell("news", "saved");
});
at("save-as").addEventListener("click", () => choose("saveFile", "Save the message", async (path) => {
  if (await apply() && await act({ do: "save", path })) { tell("news", "saved"); await load(); }
}));
for (const id of ["log-extension", "log-level", "log-text"]) at(id).addEventListener("input", drawLog);

async function start() {
  try {
    await load();
    if (state.configured) follow(() => "/ui/extensions/events", take);
    else tell("connection", "nothing to follow");
  } catch (error) {
    tell("connection", "cannot reach the service");
    tell("news", String(error.message ?? error));
    setTimeout(start, 2000);
  }
}

start();
