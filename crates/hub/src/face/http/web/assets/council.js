// The page of a council: one state, drawn whole after each message.
import { ago, duration, element, follow, list, show, tell } from "/ui/frame.js";

const PHASES = ["starting", "planning", "judging", "finalizing", "complete"];
const ENDED = ["complete", "failed", "cancelled"];
const SIGNS = {
  pending: "○", running: "●", retrying: "↻", "needs-fix": "!", complete: "✓", failed: "✗", cancelled: "–",
};
/** What people read for the names of the protocol. */
const WORDS = {
  pending: "waits", running: "works", retrying: "tries again", "needs-fix": "has to mend its answer",
  complete: "complete", failed: "failed", cancelled: "cancelled",
};
const ATTEMPTS_MAX = 3;

const wanted = new URLSearchParams(location.search).get("run_id");
let state;
let last = "";

async function load() {
  const query = wanted ? `?run_id=${encodeURIComponent(wanted)}` : "";
  const answer = await fetch(`/ui/state${query}`);
  if (!answer.ok) throw new Error(await answer.text());
  state = await answer.json();
  last = state.run_id ? `${state.run_id}:${state.sequence}` : "";
  draw();
}

function address() {
  const query = new URLSearchParams();
  if (wanted) query.set("run_id", wanted);
  if (last) query.set("after", last);
  return `/ui/events?${query}`;
}

async function take(message, id) {
  if (id) last = id;
  const payload = message.payload;
  // Another run has begun: the state as a whole is another one.
  if (payload.run_id !== state.run_id) return load();
  state.timestamps.updated_at = payload.timestamp;
  switch (message.type) {
    case "phase_change":
      state.phase = payload.phase;
      state.reached = payload.reached;
      state.resume = payload.resume;
      state.errors = payload.errors;
      state.warnings = payload.warnings;
      state.timestamps = payload.timestamps;
      state.cost_usd = payload.cost_usd;
      tell("news", WORDS[payload.phase] ?? payload.phase);
      break;
    case "planner_update":
      place(payload.planner);
      break;
    case "judge_update":
      announce(state.judge, payload.judge, "the judge");
      state.judge = payload.judge;
      state.scores = payload.scores;
      state.missing_steps = payload.missing_steps;
      state.contradictions = payload.contradictions;
      state.improvements = payload.improvements;
      break;
    case "final_plan":
      state.final_plan = payload.final_plan;
      state.warnings = payload.warnings;
      tell("news", "the final plan is there");
      break;
  }
  draw();
}

function place(planner) {
  const at = state.planners.findIndex((known) => known.id === planner.id);
  if (at < 0) return state.planners.push(planner);
  announce(state.planners[at], planner, planner.id);
  state.planners[at] = planner;
}

/** One line for each change of a status, never for the text that comes in. */
function announce(before, after, name) {
  if (before.status !== after.status) tell("news", `${name}: ${WORDS[after.status] ?? after.status}`);
}

function draw() {
  const has = state.run_id !== "";
  show("idle", !has);
  show("planning", has);
  tell("brief", has ? state.task_brief : "No council yet");
  document.title = has ? `${state.phase} · Council · Althing` : "Council · Althing";
  show("demo", state.demo);
  drawPhases();
  list("errors", state.errors);
  show("resume", state.resume !== "");
  tell("way-on", state.resume);
  list("warnings", state.warnings.map((warning) => `${warning.title}: ${warning.message}`));
  drawClock();
  drawScores();
  show("settled", state.final_plan !== "");
  tell("plan", state.final_plan);
  const download = document.getElementById("download");
  download.href = `/ui/plan.md?run_id=${encodeURIComponent(state.run_id)}`;
}

/** A run without a plan ends in the phase that it reached: what would have come after it is not done. */
function drawPhases() {
  const isWhole = state.phase === "complete";
  const isOver = ENDED.includes(state.phase);
  const names = isOver && !isWhole ? [...PHASES.slice(0, -1), state.phase] : PHASES;
  const reached = isWhole ? PHASES.length : PHASES.indexOf(state.reached);
  const steps = names.map((name, index) => {
    const isLast = isOver && index === names.length - 1;
    const isPast = index < reached || (isLast && isWhole);
    const isStopped = isOver && !isWhole && index === reached;
    const sign = isPast ? "✓ " : isStopped || isLast ? `${SIGNS[state.phase]} ` : "";
    return element("li", {
      "aria-current": name === state.phase ? "step" : undefined,
      "data-past": isPast, "data-stopped": isStopped,
    }, `${sign}${name}`);
  });
  document.getElementById("phases").replaceChildren(...(state.run_id ? steps : []));
}

/** What changes with time alone. */
function drawClock() {
  if (!state.run_id) return tell("meta", "");
  const now = Date.now();
  const end = state.timestamps.completed_at ? Date.parse(state.timestamps.completed_at) : now;
  const parts = [`run ${state.run_id}`, duration(end - Date.parse(state.timestamps.started_at))];
  if (state.cost_usd > 0) parts.push(`$${state.cost_usd.toFixed(4)}`);
  tell("meta", parts.join(" · "));
  const planners = state.planners.map((planner) => card(planner, planner.id, now));
  document.getElementById("planners").replaceChildren(...planners);
  const judge = state.judge.id ? [card(state.judge, state.judge.id, now)] : [];
  document.getElementById("judge").replaceChildren(...judge);
}

function card(member, name, now) {
  const working = ["running", "retrying"].includes(member.status);
  const sign = element("span", { class: working ? "pulse" : undefined, "aria-hidden": "true" },
    `${SIGNS[member.status] ?? "?"} `);
  const status = element("span", { class: "status", "data-status": member.status },
    sign, WORDS[member.status] ?? member.status);
  const score = state.scores.find((scored) => scored.label !== "" && scored.label === member.label);
  const facts = [
    member.model,
    member.attempt > 0 ? `attempt ${member.attempt} of ${ATTEMPTS_MAX}` : "",
    member.chars > 0 ? `${member.chars} characters` : "",
    working && member.last_activity ? `last word ${ago(member.last_activity, now)}` : "",
    score ? `${member.label}, ${score.score.toFixed(1)} of 10` : "",
  ].filter((fact) => fact !== "");
  return element("article", { class: "card", "aria-label": name },
    element("h3", {}, name, status),
    element("p", { class: "small" }, facts.join(" · ")),
    member.summary ? element("p", {}, member.summary) : undefined,
    ...member.remarks.map((remark) => element("p", { class: "small" }, remark)),
    member.errors.length > 0
      ? element("ul", { "aria-label": "Errors" }, ...member.errors.map((error) => element("li", {}, error)))
      : undefined);
}

function drawScores() {
  show("compared", state.scores.length > 0);
  document.getElementById("scores").replaceChildren(...state.scores.map((scored) => element("tr",
    { role: "row", "data-selected": scored.selected },
    cell("Plan", scored.selected ? `${scored.label} ✓ chosen` : scored.label),
    cell("Planner", scored.planner),
    cell("Score of 10", scored.score.toFixed(1),
      element("meter", { min: "0", max: "10", value: String(scored.score), "aria-hidden": "true" })),
    cell("Why", scored.rationale, ...remarks("For it", scored.strengths),
      ...remarks("Against it", scored.weaknesses)))));
  const found = [["missing", state.missing_steps], ["contradictions", state.contradictions],
    ["improvements", state.improvements]];
  for (const [id, texts] of found) {
    list(`${id}-list`, texts);
    show(id, texts.length > 0);
  }
}

/** A cell that says its column itself where the table is too narrow for columns. */
function cell(column, ...children) {
  return element("td", { role: "cell", "data-column": column }, element("div", {}, ...children));
}

function remarks(title, texts) {
  if (texts.length === 0) return [];
  return [element("p", { class: "side" }, title),
    element("ul", { "aria-label": title }, ...texts.map((text) => element("li", {}, text)))];
}

document.getElementById("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(state.final_plan);
    tell("news", "copied");
  } catch {
    tell("news", "the browser does not allow copying; select the text instead");
  }
});

async function start() {
  try {
    await load();
    follow(address, take);
    setInterval(() => ENDED.includes(state.phase) || drawClock(), 1000);
  } catch (error) {
    tell("connection", "cannot reach the service");
    tell("news", String(error.message ?? error));
    setTimeout(start, 2000);
  }
}

start();
