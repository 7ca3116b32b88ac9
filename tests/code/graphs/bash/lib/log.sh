log_info() { log_line INFO "$1"; }
log_line() { printf '%s\n' "$*"; }
