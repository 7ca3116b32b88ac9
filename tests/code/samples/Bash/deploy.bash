#!/bin/bash
# Deploys the shop to a stage.
#
# usage: deploy.bash STAGE

set -o errexit -o nounset
shopt -s extglob

source "${BASH_SOURCE%/*}/lib/colours.sh"
source ./lib/log.sh || exit 1

VERSION="$(git describe --tags)"
export PATH="/opt/shop/bin:$PATH" STAGE=${1:-test}
readonly ROOT=/srv TARGETS=(web worker)
declare -A HOSTS=([web]=a.example.org [worker]=b.example.org)
typeset -i RETRIES=3

# Says how it is used.
function usage {
  cat <<EOF
usage: $(basename "$0") STAGE
not_a_function() { :; }
EOF
}

die() {
  log::error "$*" >&2
  exit 1
}

log::error() { printf '%s\n' "$1"; }

_retry() {
  local attempt
  for ((attempt = 1; attempt <= RETRIES; attempt++)); do
    if "$@"; then
      return 0
    fi
    sleep "$attempt"
  done
  return 1
}

upload() (
  cd "$ROOT"
  _retry rsync -a ./ "${HOSTS[$1]}:"
)

function restart-service() {
  ssh "${HOSTS[$1]}" sudo systemctl restart "shop-$1" || die "no restart"
}

cleanup() { rm -rf "$ROOT/tmp"; }
trap cleanup EXIT

if [[ $STAGE == prod ]]; then
  confirm() { read -r -p "sure? " answer && [[ $answer == y ]]; }
else
  confirm() { true; }
fi

main() {
  [[ $# -eq 1 ]] || { usage; return 2; }
  confirm || die "stopped"
  for target in "${TARGETS[@]}"; do
    upload "$target" && restart-service "$target" | tee log.txt
  done
  case $STAGE in
    prod) announce "$VERSION" ;;
    *) : ;;
  esac
}

main "$@"
