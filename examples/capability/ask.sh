#!/bin/sh
# One question to a model of the person's, with nothing but busctl and jq.
set -eu
[ $# -ge 1 ] || { echo 'usage: ask.sh "question" [model]' >&2; exit 2; }

# althing INTERFACE METHOD [SIGNATURE ARGUMENT...]: the response as JSON.
althing() {
    interface=$1
    shift
    busctl --user --json=short --timeout=600 call -- org.althing.Capability1 \
        /org/althing/Capability1 "org.althing.Capability1.$interface" "$@" | jq '.data[0]'
}

model=${2:-$(althing Models GetModels 'a{sv}' 0 | jq -r 'first(.models.data[]
    | select(.enabled.data) | .provider_id.data + ":" + .model_id.data)')}
[ -n "$model" ] || { echo 'no model yet: `althing providers add openai` adds some' >&2; exit 1; }

althing Chat Complete 'saa{sv}a{sv}' "$model" 1 2 role s user content s "$1" 0 |
    jq -r 'if .success.data then .completion.data.content.data
           else error(.error_code.data + ": " + .message.data) end'
