#!/bin/sh
# A fake agent. The first word says how it behaves, the second is a name, a size or a number;
# $HOME/plan.json is a good plan with NAME in it. Every start is counted in $HOME/starts.
name=${2:-$1}
echo "$name" >> "$HOME/starts"

plan() { sed "s/NAME/$name/" "$HOME/plan.json"; }
# A text, and the plan, as the inside of a JSON string.
escaped() { sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\n'; }
inside() { plan | escaped; }
# Lines of events, and braces that close nothing.
flood() { yes '{"log": [1, {"x": 2}]} {[ {"' | head -c "$1"; echo; }

judge() {
    prompt=$(cat)
    labels=$(echo "$prompt" | sed -n 's/^\[[a-z]* \(Plan [0-9]*\)\]$/\1/p')
    first=$(echo "$prompt" | sed -n 's/.*{"summary":"\([^"]*\)".*/\1/p' | head -n 1)
    score='{"label":"&","score":7,"rationale":"Good","strengths":[],"weaknesses":[]}'
    scores=$(echo "$labels" | sed "s/.*/$score/" | paste -s -d , -)
    cat <<END
{"scores": [$scores], "comparative_analysis": "Alike", "missing_steps": [], "contradictions": [],
 "improvements": [], "selected_plan": "$(echo "$labels" | head -n 1)", "merged_plan": {
  "overview": "$first", "phases": $(cat "$HOME/phases.json"), "testing": ["Try it"],
  "risks": ["It may break"], "rollback": [], "edge_cases": []}}
END
}

case $1 in
good) cat > /dev/null; plan ;;
judge) judge ;;
stdin) grep -q 'Move the shop' && plan ;;
argument) case $3 in *'Move the shop'*) plan ;; esac ;;
deaf) plan ;;
fenced) echo 'Sure! {thinking'; echo '```json'; plan; echo '```'; echo 'Done. {'; echo '{' >&2 ;;
noisy) echo '{"log": "begin"} [1, 2]'; plan; echo '{"log": "end", "n": 1}' ;;
bytes) printf 'caf\351 \377\376 {\n'; plan; printf '\200\n' ;;
hang) exec sleep 1000 ;;
children) sleep 1000 & setsid sleep 1000 & (sleep 1000; true) & wait ;;
held) plan; sleep 1000 & ;;
held-outside) plan; setsid sleep 1000 & ;;
# What is left behind has nothing of ours but its arguments.
escaped) plan; env -i setsid tail -f "$HOME/plan.json" > /dev/null 2>&1 & ;;
escaping) env -i setsid tail -f "$HOME/plan.json" & exec sleep 1000 ;;
refuse) echo "I'm sorry, but I can't help with that." ;;
empty) ;;
fail) echo 'Error: something broke' >&2; exit 1 ;;
login) echo 'Error: Not logged in' >&2; exit 1 ;;
good-then-fail) plan; exit 1 ;;
headers) echo '# Plan'; echo '## Overview'; echo '## Phases'; echo '## Risks' ;;
echo) cat ;;
flood) flood "$2" ;;
long) printf '{'; yes '' | head -c "$2"; plan | cut -c 2- ;;
plan-and-flood) name=flood; plan; flood "$2"; flood "$2" >&2 ;;
# Nobody goes on before everybody has written all its events.
together)
    flood 300000; flood 300000 >&2
    touch "$HOME/written-$2"
    while [ ! -e "$HOME/written-1" ] || [ ! -e "$HOME/written-2" ] || [ ! -e "$HOME/written-3" ]
    do sleep 0.05; done
    plan ;;
claude)
    printf '[{"type":"system","subtype":"init"},'
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}]\n' "$(inside)" ;;
claude-lines)
    echo '{"type":"system","subtype":"init"}'
    printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "$(inside)" ;;
claude-logged-out)
    echo '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in"}'; exit 1 ;;
claude-choosy)
    case " $* " in
    *' --model good '*)
        printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\n' "$(inside)" ;;
    *) echo "Error: model: $(echo "$*" | sed 's/.*--model \([a-z]*\).*/\1/') does not exist" >&2; exit 1 ;;
    esac ;;
codex)
    echo '{"type":"item.completed","item":{"type":"agent_message","text":"I will plan {it}."}}'
    printf '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\n' "$(inside)"
    echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}' ;;
codex-judge)
    echo '{"type":"item.completed","item":{"type":"agent_message","text":"I will compare {them}."}}'
    printf '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\n' "$(judge | escaped)"
    echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}' ;;
codex-offline)
    while true
    do echo '{"type":"error","message":"Reconnecting... 1/5 (connection refused)"}'; sleep 0.1; done ;;
gemini)
    echo 'Loaded {"cached": "credentials"} {' >&2
    printf '{"response": "%s", "stats": {}}\n' "$(inside)" ;;
folder) cat > /dev/null; pwd >&2; ls >&2; plan ;;
# Two tries and some time, whoever asks.
slow)
    if grep -q 'could not be used'; then sleep 0.1; plan; else sleep 0.1; echo 'Let me think.'; fi ;;
late) cat > /dev/null; sleep 0.3; plan ;;
*) echo "Error: no such behaviour: $1" >&2; exit 2 ;;
esac
