#!/usr/bin/env bash
# Runs the shop.
set -euo pipefail
source ./lib.sh
. "$HOME/money.sh"

readonly LIMIT=10
export NAME=shop
declare -a ITEMS=(a b)
alias ll='ls -l'

# Adds.
add() {
  local sum=$(( $1 + $2 ))
  echo "$(total "$sum")"
}

function total {
  printf '%s\n' "$1" | sort | helper
}

function helper() (
  cd /tmp && add 1 2
)

main() { add "$@"; }
main "$@"
