#!/usr/bin/env bash
# One run for a workflow: inputs come as variables, outputs go to $GITHUB_OUTPUT, a summary to $GITHUB_STEP_SUMMARY.
set -uo pipefail

arguments=(run --no-stdin --output-format json --out "$REMIT_OUT_DIR")
[ -n "$REMIT_TASK" ] && arguments+=(--task "$REMIT_TASK")
[ -n "$REMIT_RUN_MODEL" ] && arguments+=(--model "$REMIT_RUN_MODEL")
[ -n "$REMIT_APPROVALS" ] && arguments+=(--approvals "$REMIT_APPROVALS")
while IFS= read -r line; do [ -n "$line" ] && arguments+=(--policy "$line"); done <<<"$REMIT_POLICY"
while IFS= read -r line; do [ -n "$line" ] && arguments+=("$line"); done <<<"$REMIT_ARGUMENTS"
[ -n "$REMIT_PROMPT" ] && arguments+=(-- "$REMIT_PROMPT")

result="$(mktemp)"
remit "${arguments[@]}" >"$result"
code=$?

python3 - "$result" "$code" <<'PYTHON'
import json
import os
import secrets
import sys

path, code = sys.argv[1:]
try:
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
except ValueError:
    result = {}
values = {
    "verdict": result.get("verdict", ""),
    "exit-code": code,
    "cost": f"{result['total_cost_usd']:.6f}" if result.get("cost_known") else "",
    "run-id": result.get("run_id", ""),
    "result": result.get("result") or "; ".join(result.get("errors", [])),
}
with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
    for name, value in values.items():
        # A mark that nobody can guess: the model's words must not be taken for another output.
        mark = secrets.token_hex(16)
        file.write(f"{name}<<{mark}\n{value}\n{mark}\n")
summary = os.environ.get("GITHUB_STEP_SUMMARY")
if summary:
    with open(summary, "a", encoding="utf-8") as file:
        file.write(f"**remit**: {values['verdict'] or 'no result'} (exit {code}), run {values['run-id'] or '-'}\n")
PYTHON

rm -f "$result"
exit "$code"
