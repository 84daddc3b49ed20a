"""A council of fake agents against the ideal: overhead, planners side by side, memory.

    cargo build --release -p althing
    python3 bench/council.py [--runs N]

Needs bash and coreutils. The ideal is the slowest planner plus the judge: a bare shell that starts the same
planners side by side, waits for them and then starts the same judge, in turn with the councils. What a council
takes beyond that is the overhead. Both are counted without the time in which the agents sleep, from the moment
they say that they began to the moment they say that they end, since that varies.
The history is there already, except in the row that says otherwise.
Memory is the peak of the process itself: its agents are smaller.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
ALTHING = TARGET / "release/althing"
RUN_SECONDS_MAX = 300
FLOOD_BYTES = 100 << 20

TASK = {
    "title": "Do it", "description": "It is needed", "steps": ["Begin"], "inputs": [], "outputs": [],
    "dependencies": [], "acceptance_criteria": ["It is done"], "complexity": 3,
}
PHASES = [{"name": "Work", "goal": "Done", "tasks": [TASK]}]
PLAN = {
    "summary": "A plan", "phases": PHASES, "risks": ["It may break"], "edge_cases": [], "tests": ["Try it"],
    "assumptions": [], "rollback": ["Undo it"],
}
BODY = {
    "overview": "A plan", "phases": PHASES, "testing": ["Try it"], "risks": ["It may break"], "rollback": [],
    "edge_cases": [],
}

AGENT = """#!/bin/bash
echo "$EPOCHREALTIME" >> "$HOME/$1-began"
cat > /dev/null
sleep "$2"
[ "$3" -gt 0 ] && yes xxxxxxxxxxxxxxxx | head -c "$3"
cat "$HOME/$1.json"
echo "$EPOCHREALTIME" >> "$HOME/$1-ended"
"""


def verdict(planners):
    score = {"score": 7, "rationale": "Good", "strengths": [], "weaknesses": []}
    scores = [{"label": f"Plan {at + 1}", **score} for at in range(planners)]
    return {
        "scores": scores, "comparative_analysis": "Alike", "missing_steps": [], "contradictions": [],
        "improvements": [], "selected_plan": "Plan 1", "merged_plan": BODY,
    }


def run(runs, planners, seconds, flood=0):
    """Councils in one home, and as many bare shells: the time of each, that of its agents, and its peak memory
    in MB. The first council is another: it makes the history, which is made once on a machine."""
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        agent = home / "agent.sh"
        agent.write_text(AGENT)
        agent.chmod(0o755)
        (home / "planner.json").write_text(json.dumps(PLAN))
        (home / "judge.json").write_text(json.dumps(verdict(planners)))

        def called(name, role):
            return {"name": name, "kind": "custom", "command": f"{agent} {role} {seconds} {flood}"}

        who = [called(f"p{at}", "planner") for at in range(planners)]
        task = {"task": "Move it", "agents": {"planners": who, "judge": called("judy", "judge")}}
        (home / "task.json").write_text(json.dumps(task))
        council = [ALTHING, "plan", "task.json", "--quiet"]
        side_by_side = " ".join(f"{one['command']} < task.json &" for one in who)
        shell = ["sh", "-c", f"{side_by_side} wait; {called('judy', 'judge')['command']} < task.json"]
        councils, shells = [measured(council, home)], []
        for _ in range(runs):
            councils.append(measured(council, home))
            shells.append(measured(shell, home))
        return councils, shells


def measured(argv, home):
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    began = time.time()
    child = subprocess.Popen(argv, env=env, cwd=home, stdout=subprocess.DEVNULL)
    hangs = threading.Timer(RUN_SECONDS_MAX, child.kill)
    hangs.start()
    # Nobody looks at it while it runs: on two cores that alone costs it ten milliseconds.
    _, status, used = os.wait4(child.pid, 0)
    took, peak = time.time() - began, used.ru_maxrss / 1024
    child.returncode = os.waitstatus_to_exitcode(status)
    hangs.cancel()
    if child.returncode != 0:
        raise SystemExit(f"{argv[0]} failed: {child.returncode}")

    def moments(name):
        file = home / name
        told = [float(line) for line in file.read_text().split()]
        file.unlink()
        return told

    planned = -min(moments("planner-began")) + max(moments("planner-ended"))
    judged = -min(moments("judge-began")) + max(moments("judge-ended"))
    return took, planned + judged, peak


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=10)
    runs = arguments.parse_args().runs
    print(f"{'':44}{'measured':>12}{'target':>12}")

    def row(name, value, unit, target):
        print(f"{name:44}{value:>9.1f} {unit:<3}{target:>9} {unit}")

    def overheads(all):
        return [(took - ideal) * 1e3 for took, ideal, _ in all]

    (_, *few), shells = run(runs, 3, 0.2)
    ours, bare = overheads(few), overheads(shells)
    beyond = [one - other for one, other in zip(ours, bare)]
    row("overhead, 3 planners and a judge", statistics.median(beyond), "ms", 20)
    row("council, without the sleep of its agents", statistics.median(ours), "ms", "-")
    row("bare shell, without it", statistics.median(bare), "ms", "-")
    firsts = overheads(run(0, 3, 0.2)[0][0] for _ in range(max(1, runs // 3)))
    row("overhead, where nothing was ever run", statistics.median(firsts) - statistics.median(bare), "ms", "-")
    (_, *many), _ = run(max(1, runs // 5), 16, 1)
    row("16 planners of 1 s and a judge of 1 s", statistics.median(took for took, _, _ in many), "s", 2)
    row("peak memory, 16 planners", max(peak for _, _, peak in many), "MB", 30)
    (flood, *_), _ = run(0, 1, 0, FLOOD_BYTES)
    row("peak memory, 100 MB of a planner and a judge", flood[2], "MB", 30)


if __name__ == "__main__":
    main()
