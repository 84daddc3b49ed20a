// A picker of files in the folders that the service allows.
import { element } from "/ui/frame.js";

/** What fits a wish, as an element. `list` gives a folder, `answer` takes the paths, or null. */
export function pick(wish, list, answer) {
  const many = wish.pick === "openFiles";
  const saves = wish.pick === "saveFile";
  const chosen = new Set();
  const path = element("p", { class: "who" });
  const names = element("ul", { class: "names", "aria-label": "Files and folders" });
  const trouble = element("p", { role: "alert" });
  const name = element("input", { "aria-label": "Name of the file", value: wish.defaultName ?? "" });
  const filter = element("select", { "aria-label": "Kind of files" },
    ...wish.filters.map((it, at) => element("option", { value: String(at) }, it.name)),
    element("option", { value: "" }, "all files"));
  const take = element("button", { type: "button" }, saves ? "Save" : wish.pick === "directory" ? "Take this folder" : "Open");
  const cancel = element("button", { type: "button" }, "Cancel");
  // A name that is typed is done with Enter.
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !take.disabled) { event.preventDefault(); take.click(); }
  });
  let here;

  const join = (file) => `${here.path === "/" ? "" : here.path}/${file}`;
  const fits = (file) => {
    const ends = wish.filters[filter.value]?.extensions ?? [];
    return ends.length === 0 || ends.includes("*")
      || ends.some((end) => file.toLowerCase().endsWith(`.${end.toLowerCase()}`));
  };

  function row(sign, text, click, pressed) {
    const made = element("button", { type: "button", "aria-pressed": pressed === undefined ? undefined : String(pressed) },
      `${sign} ${text}`);
    made.addEventListener("click", click);
    return element("li", {}, made);
  }

  function toggle(file) {
    const whole = join(file);
    if (saves) { name.value = file; return draw(); }
    const had = chosen.has(whole);
    if (!many) chosen.clear();
    if (had) chosen.delete(whole); else chosen.add(whole);
    draw();
  }

  function draw() {
    // A name may be typed before the folder is there.
    if (!here) return;
    path.textContent = here.path + (here.is_cut ? " (not all are shown)" : "");
    const elsewhere = here.others.map((folder) => row("⌂", folder, () => go(folder)));
    const up = here.parent ? [row("↑", "the folder above", () => go(here.parent))] : [];
    const folders = here.folders.map((folder) => row("▸", folder, () => go(join(folder))));
    const files = wish.pick === "directory" ? [] : here.files.filter(fits)
      .map((file) => row("·", file, () => toggle(file), saves ? file === name.value : chosen.has(join(file))));
    names.replaceChildren(...elsewhere, ...up, ...folders, ...files);
    take.disabled = saves ? name.value === "" : wish.pick !== "directory" && chosen.size === 0;
  }

  async function go(to) {
    try {
      here = await list(to);
      if (!many) chosen.clear();
      trouble.textContent = "";
      draw();
    } catch (error) {
      trouble.textContent = String(error.message ?? error);
      // Where to begin was a wish; what is allowed is shown instead.
      if (!here && to) await go();
    }
  }

  take.addEventListener("click", () => {
    if (saves) return answer([join(name.value)]);
    answer(wish.pick === "directory" ? [here.path] : [...chosen]);
  });
  cancel.addEventListener("click", () => answer(null));
  filter.addEventListener("input", draw);
  name.addEventListener("input", draw);
  take.disabled = true;
  go(wish.defaultPath ?? undefined);
  const shows = element("div", {}, path, names, trouble);
  if (saves) shows.append(name);
  if (wish.filters.length > 0) shows.append(filter);
  shows.append(element("p", { class: "actions" }, take, cancel));
  return shows;
}
