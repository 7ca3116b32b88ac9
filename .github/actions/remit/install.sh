#!/usr/bin/env bash
# Installs remit for the steps that follow, in an environment of its own. $INSTALL: what pip installs; `checkout` is
# the checkout that this action lies in.
set -euo pipefail

tell() {
  echo "::error::$1" >&2
  exit 2
}

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  tell "remit needs Python 3.11 or newer: have actions/setup-python in an earlier step"
if [ "$INSTALL" = checkout ]; then
  INSTALL="$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)"
  grep -qs '^name = "remit"$' "$INSTALL/pyproject.toml" ||
    tell "this action lies in no checkout of remit ($INSTALL): say with the input install what pip is to install"
fi
python3 -m venv "$RUNNER_TEMP/remit"
"$RUNNER_TEMP/remit/bin/pip" install -q "$INSTALL"
echo "$RUNNER_TEMP/remit/bin" >>"$GITHUB_PATH"
