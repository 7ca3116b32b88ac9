#!/bin/sh
# remit, as one file. It unpacks itself into a cache directory when it is first run, and runs from there.
REMIT_STARTED_AS=$0
export REMIT_STARTED_AS
name=rt-@DIGEST@

whole() {
  [ -x "$1/remit" ] && [ -O "$1" ] && [ ! -L "$1" ] && [ "$(cat "$1/.whole" 2>/dev/null)" = "$(state "$1")" ]
}

# Names, sizes and times of all files: cut, replaced or missing ones show.
state() (
  cd "$1" || exit 1
  if [ "$(uname)" = Linux ]; then find . -name '.?*' -prune -o -type f -printf '%P %s %T@ %m\n'
  else find . -name '.?*' -prune -o -type f -exec stat -f '%N %z %m %p' {} +
  fi | LC_ALL=C sort | cksum
)

unpack() {
  mkdir -p "$1" 2>/dev/null && [ -O "$1" ] && [ ! -L "$1" ] && chmod 700 "$1" 2>/dev/null || return 1
  new=$(mktemp -d "$1/.new.XXXXXX" 2>/dev/null) || return 1
  trap 'rm -rf "$new"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if sed '1,/^#PAYLOAD#$/d' "$0" | gzip -dc 2>/dev/null | tar -xf - -C "$new" 2>/dev/null &&
    state "$new" >"$new/.whole" 2>/dev/null && "$new/remit" --version >/dev/null 2>&1 &&
    "$new/remit" __settle "$new" "$1/$name"; then
    rm -rf "$new"
    trap - EXIT INT TERM
    whole "$1/$name"
  else
    rm -rf "$new"
    trap - EXIT INT TERM
    return 1
  fi
}

umask_was=$(umask)
umask 077
for base in "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/remit" "${TMPDIR:-/tmp}/remit-$(id -u)"; do
  case $base in /*) ;; *) continue ;; esac
  if whole "$base/$name" || unpack "$base"; then
    umask "$umask_was"
    exec "$base/$name/remit" "$@"
  fi
done
echo "error: remit cannot unpack itself: no directory that may be written and run from, tried ${XDG_CACHE_HOME:-${HOME:-}/.cache}/remit and ${TMPDIR:-/tmp}" >&2
echo "hint: let XDG_CACHE_HOME or TMPDIR name one" >&2
exit 9
