#!/usr/bin/env bash
source "$(dirname "$0")/../lib/log.sh"
. ../lib/util.sh
main() { log_info start; each_file twice; }
twice() { log_info "$1"; }
main "$@"
