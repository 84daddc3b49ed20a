// The message and its textarea: line ends, which a textarea does not keep, and where in it the caret is.

const ENDS = /\r\n|\r|\n/g;

/** The message as a textarea has it. */
export const toShow = (text) => text.replace(ENDS, "\n");

/** What the textarea has, with the line ends that the message `was` has. Lines that are the same from the first
 * on, or from the last back, keep theirs; between those a line takes the place of another with its end, and what
 * is more ends like the first line, or as is `usual`. */
export function toKeep(text, was, usual) {
  const [lines, old, ends] = [text.split("\n"), was.split(ENDS), was.match(ENDS) ?? []];
  const least = Math.min(lines.length, old.length);
  let head = 0;
  while (head < least && lines[head] === old[head]) head += 1;
  let tail = 0;
  while (tail < least - head && lines.at(-1 - tail) === old.at(-1 - tail)) tail += 1;
  const end = (at) => {
    if (at >= lines.length - tail) return ends[at - lines.length + old.length];
    return at < old.length - tail ? ends[at] : undefined;
  };
  const last = lines.length - 1;
  return lines.map((line, at) => (at < last ? line + (end(at) ?? ends[0] ?? usual) : line)).join("");
}

/** What became of `base`: from where to where something else stands in `now`. */
function change(base, now) {
  const least = Math.min(base.length, now.length);
  let head = 0;
  while (head < least && base[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < least - head && base.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return { from: head, to: base.length - tail, put: now.slice(head, now.length - tail) };
}

/** What two made of `base` at two places, together; nothing where they met. */
export function merged(base, mine, theirs) {
  const [first, last] = [change(base, mine), change(base, theirs)].sort((a, b) => a.from - b.from);
  if (first.to >= last.from) return undefined;
  return base.slice(0, first.from) + first.put + base.slice(first.to, last.from) + last.put + base.slice(last.to);
}

/** Where a caret is when `before` has become `now` around it. */
export function movedBy(before, now, caret) {
  const { from, to } = change(before, now);
  if (caret <= from) return caret;
  return caret >= to ? caret + now.length - before.length : Math.min(caret, now.length);
}

/** The segment, field and component of an HL7 message in which the caret is; nothing where there is no field. */
export function placeAt(text, caret) {
  const [field, component, repetition] = text.startsWith("MSH") ? text.slice(3, 6) : "|^~";
  const before = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
  const [segment, ...fields] = before.split(field);
  if (!/^[A-Z][A-Z0-9]{2}$/.test(segment) || fields.length === 0) return undefined;
  // The first field of a header is the separator itself, the second has the others.
  const number = fields.length + (segment === "MSH" ? 1 : 0);
  const isHeader = segment === "MSH" && number === 2;
  const part = isHeader ? "" : fields.at(-1).split(repetition).at(-1);
  return { segment, field: number, component: part.split(component).length };
}

/** What extensions say of a place: of its field, then of its component. */
export function described(place, schema) {
  const said = schema?.segments?.[place.segment]?.fields ?? [];
  const about = [undefined, place.component].flatMap((component) => said
    .filter((it) => it.field === place.field && (it.component ?? undefined) === component));
  return about.map(words).filter(Boolean).join(" › ");
}

function words({ name, group, note, required, minlength, maxlength, pattern, datatype, placeholder, values }) {
  const length = minlength || maxlength ? `${minlength ?? 0} to ${maxlength ?? "any"} characters` : undefined;
  const known = values && Object.entries(values).map(([value, means]) => `${value} = ${means}`).join(", ");
  const like = placeholder && `like ${placeholder}`;
  const match = pattern && `matches ${pattern}`;
  return [group, name, required ? "required" : undefined, datatype, like, length, match, known, note]
    .filter(Boolean).join(" · ");
}
