// The page of extensions: the message, their buttons, questions, windows and logs. One state, fetched
// whole when something changed; all text of extensions is text.
import { buttons, close, isOpen, present } from "/ui/dialogue.js";
import { element, follow, show, tell } from "/ui/frame.js";
import * as message from "/ui/message.js";
import { pick } from "/ui/picker.js";
import { described, placeAt } from "/ui/text.js";
import { drawWindows } from "/ui/windows.js";

const LEVELS = { info: 0, warning: 1, error: 2 };
const SIGNS = { info: " ", warning: "!", error: "✗" };
const LINES_MAX = 1000;
const KINDS = { info: "Message", warning: "Warning", error: "Error" };

const TITLE = document.title;

const at = (id) => document.getElementById(id);
let state;
let lines = [];
/** The question on the screen. */
let asked;
/** Extensions that the person has told to end: nothing of theirs is asked any more. */
const stopped = new Set();
/** What extensions say about fields. */
let schema;

async function ask(path) {
  const answer = await fetch(`/ui/extensions/${path}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

const post = (deed) => fetch("/ui/extensions/do", {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(deed),
});

/** Does something; what is refused is told. */
async function act(deed) {
  const answer = await post(deed);
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
      if (state.configured && state.revision !== message.revision()) await message.look();
      draw();
    } while (again);
  })().finally(() => { loading = undefined; });
  return loading;
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
  if (!state?.configured) return;
  const own = message.isUnsent();
  at("text").toggleAttribute("data-own", own);
  // What was just sent is not in the state yet.
  const isChanged = own || state.is_changed || message.revision() > state.revision;
  show("unsaved", isChanged);
  document.title = `${isChanged ? "● " : ""}${TITLE}`;
  drawStep("undo", own ? "you" : state.undo);
  drawStep("redo", own ? undefined : state.redo);
  at("save").disabled = !state.file;
  drawField();
}

function drawStep(deed, by) {
  const button = at(deed);
  button.disabled = !by || message.isStuck();
  const words = { undo: "Takes back what was changed by", redo: "Changes again what was changed by" }[deed];
  button.title = by ? `${words} ${by}` : "";
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
    if (await message.send()) await act({ do: "command", command: button.command });
  });
  return made;
}

function drawExtensions() {
  if (!isNew("extensions", state.extensions.map((it) => ({ ...it, open_requests: 0 })))) return;
  loadSchema();
  at("extensions").replaceChildren(...state.extensions.map((it) => {
    const reload = element("button", { type: "button" }, it.state === "running" ? "Reload" : "Start");
    reload.addEventListener("click", () => { stopped.delete(it.id); act({ do: "reload", extension: it.id }); });
    const stop = element("button", { type: "button" }, "Stop");
    stop.disabled = it.state !== "running";
    stop.addEventListener("click", () => halt(it.id));
    const itself = it.calls_itself && it.calls_itself !== it.name ? `calls itself ${it.calls_itself}` : "";
    return element("article", { class: "card", "aria-label": it.name },
      element("h3", {}, element("bdi", {}, it.name), element("span", { class: "state", "data-state": it.state },
        it.state.replaceAll("_", " "))),
      element("p", { dir: "auto" }, [itself, it.version ?? "", it.description ?? ""].filter(Boolean).join(" · ")),
      it.reason ? element("p", { class: "reason" }, it.reason) : undefined,
      element("p", { class: "actions" }, reload, stop));
  }));
  const names = state.extensions.map((it) => element("option", { value: it.id }, it.name));
  const chosen = at("log-extension").value;
  at("log-extension").replaceChildren(element("option", { value: "" }, "all"), ...names);
  at("log-extension").value = chosen;
}

/** Ends an extension; what it asks is not shown any more. */
function halt(id) {
  stopped.add(id);
  drawQuestion();
  return act({ do: "stop", extension: id });
}

const isAsking = (question) => {
  const extension = state.extensions.find((it) => it.id === question.extension);
  return extension?.state !== "shutting_down" && !stopped.has(question.extension);
};

function drawQuestion() {
  for (const it of state.extensions) if (it.state === "stopped" || it.state === "failed") stopped.delete(it.id);
  const first = state.questions.find(isAsking);
  if (first?.id === asked) return;
  // What the person is doing there comes first.
  if (isOpen() && asked === undefined) return;
  asked = undefined;
  if (isOpen()) close();
  if (!first) return;
  asked = first.id;
  const answer = (said) => act({ do: "answer", question: first.id, answer: said });
  const away = { message: true, confirm: false, files: null }[first.ask];
  const words = first.ask === "message" ? [["OK", true]]
    : first.buttons === "okCancel" ? [["Cancel", false], ["OK", true]] : [["No", false], ["Yes", true]];
  const more = first.ask === "files" ? pick(first, (path) => folder(path, first.id), answer)
    : buttons(...words.map(([word, said]) => [word, () => answer(said)]));
  const bar = element("header", { class: "asker" },
    element("p", {}, "The extension ", element("strong", {}, element("bdi", {}, first.name)), " asks:"),
    element("button", { type: "button" }, "Stop it"));
  bar.querySelector("button").addEventListener("click", () => halt(first.extension));
  present({ bar, title: first.title ?? KINDS[first.kind] ?? "Question", said: first.message, more,
    startles: true, turnedAway: () => answer(away) });
}

function folder(path, question) {
  const query = new URLSearchParams();
  if (question !== undefined) query.set("question", question);
  if (path) query.set("path", path);
  return ask(`folder?${query}`);
}

/** A file for the message itself. */
function choose(kind, title, then) {
  const name = state.file?.split("/").at(-1) ?? "message.hl7";
  const wish = { pick: kind, defaultName: name, filters: [] };
  const done = (paths) => { close(); if (paths) then(paths[0]); };
  asked = undefined;
  present({ title, more: pick(wish, (path) => folder(path), done), turnedAway: () => done(null), whenClosed: drawQuestion });
}

/** Asks before something is lost; what keeps all stands first. */
function warn(title, said, ...choices) {
  const pairs = [["Cancel", () => {}], ...choices].map(([word, run]) => [word, () => { close(); run(); }]);
  asked = undefined;
  present({ title, said, more: buttons(...pairs), startles: true, turnedAway: close, whenClosed: drawQuestion });
}

async function openFile(path, discard = false) {
  if (!(await message.send())) return;
  const answer = await post({ do: "open", path, discard });
  if (answer.ok) { tell("news", "opened"); return load(); }
  if (answer.status !== 409) return tell("news", (await answer.text()).trim());
  const save = async () => { if (await saveFile()) await openFile(path); };
  warn("The message has changes that are not saved", `To open ${path}:`,
    ...(state.file ? [["Save them, then open", save]] : []), ["Discard them, then open", () => openFile(path, true)]);
}

/** Whether it is saved now. */
async function saveFile(path, overwrite = false) {
  if (!(await message.send())) return false;
  const answer = await post({ do: "save", path, overwrite });
  if (answer.ok) { tell("news", "saved"); await load(); return true; }
  const why = (await answer.text()).trim();
  if (answer.status !== 409) { tell("news", why); return false; }
  warn("That would replace what is there", why, ["Replace it", () => saveFile(path, true)]);
  return false;
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

message.begin({ post, fetch: () => ask("document"), form: () => state.form, changed: drawEditor, load });
document.addEventListener("selectionchange", () => { if (state?.configured) drawField(); });
at("undo").addEventListener("click", () => message.step("undo"));
at("redo").addEventListener("click", () => message.step("redo"));
at("open").addEventListener("click", () => choose("openFile", "Open a message", (path) => openFile(path)));
at("save").addEventListener("click", () => saveFile());
at("save-as").addEventListener("click", () => choose("saveFile", "Save the message", (path) => saveFile(path)));
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
