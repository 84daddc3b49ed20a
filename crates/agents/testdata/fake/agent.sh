#!/bin/sh
# An agent that behaves as its first argument says.
plan='{"summary": "Start small.", "phases": []}'
flood() { head -c "$1" /dev/zero | tr '\0' 'x' | fold -w 100; }
case "$1" in
    echo) cat ;;
    argument) printf '%s|' "$2"; cat ;;
    variables) env | sort ;;
    folder) pwd; ls -A ;;
    noise)
        printf 'Warning {"not": "the plan"}\n' >&2
        printf '\033[32mThinking\033[0m...\n```json\n%s\n```\nDone. {\n' "$plan" ;;
    bytes) printf 'caf\351 \377\376\n%s\n' "$plan" ;;
    hang) sleep 1000 ;;
    hang-with-children)
        sleep 1001 & (sleep 1002 & sleep 1003) &
        setsid sleep 1004 &
        wait ;;
    held) sleep 1000 & echo "$plan" ;;
    held-outside) setsid sleep 1000 & echo "$plan" ;;
    left-behind) setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo "$plan" ;;
    stubborn) trap '' TERM INT HUP; while :; do sleep 1000; done ;;
    refuse) echo "I'm sorry, but I can't help with that." ;;
    empty) ;;
    fail) echo "Error: something broke" >&2; exit 1 ;;
    fail-login) echo "Error: Not logged in" >&2; exit 1 ;;
    good-then-fail) echo "$plan"; echo "Error: something broke" >&2; exit 1 ;;
    killed) kill -9 $$ ;;
    flood) flood "$2" ;;
    flood-one-line) head -c "$2" /dev/zero | tr '\0' 'x' ;;
    flood-errors) flood "$2" >&2; echo "$plan" ;;
    plan-and-flood) echo "$plan"; flood "$2"; echo "$plan" ;;
    for-ever) while :; do echo "still here"; sleep 0.02; done ;;
    dots) for _ in 1 2 3 4 5 6 7 8; do printf .; sleep 0.1; done; echo "$plan" ;;
    deaf) exec <&-; echo "$plan" ;;
    secret) echo "key sk-ant-api03-0123456789abcdef" >&2; echo "$plan" ;;
    said-all)
        echo '{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"Yes."}}}'
        echo '{"type":"result","is_error":false,"result":"Yes."}'
        sleep 1000 ;;
    tries-again)
        while :; do
            echo '{"type":"error","message":"Reconnecting... waiting for network (refused)"}'
            sleep 0.05
        done ;;
    bad-key)
        for attempt in 1 2 3; do
            echo '{"type":"system","subtype":"api_retry","attempt":'$attempt',"error_status":401}'
        done
        sleep 1000 ;;
esac
