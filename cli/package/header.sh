#!/bin/sh
# remit, as one file. It unpacks itself into a cache directory when it is first run, and runs from there.
# In braces, so that a shell reads all of this before it does any of it: a file that was cut short does nothing.
{
self=$0
[ -r "$self" ] || self=$(command -v "$self")
name=rt-@DIGEST@ start=@START@ bytes=@BYTES@
place= said= hopeless=
line_end='
'
# The system's own tools; the program gets its PATH back.
path_set=${PATH+set} path_was=${PATH-}
PATH=/usr/bin:/bin${PATH:+:$PATH}

payload() { tail -c +$start <"$self"; }

# Names, sizes, times and modes of all files: cut, replaced or missing ones show.
state() (
  cd "$1" && LC_ALL=C exec xargs stat @STAT@ <.files
)

ours() { [ -O "$1" ] && [ ! -L "$1" ]; }

whole() {
  [ -x "$1/$name/remit" ] && ours "$1" && ours "$1/$name" &&
    [ "$(cat "$1/$name/.whole" 2>/dev/null)" = "$(state "$1/$name" 2>/dev/null)" ]
}

# Nothing of root's is left in the home of another user.
may_be_made() {
  above=$1
  while [ ! -e "${above:=/}" ]; do above=${above%/*}; done
  [ -O "$above" ] || [ "$(id -u)" != 0 ]
}

# All of it, and as it was packed: what tar takes may be damaged still.
extract() (
  unset TAR_OPTIONS GZIP
  payload | { gzip -dc && : >"$new/.all"; } | { tar -xof - -C "$new" && cat >/dev/null; } && [ -f "$new/.all" ]
)

# Its own libraries, before it can look for them itself.
with_libraries() {
  LD_LIBRARY_PATH=$1/_internal${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
}

# Leaves in `said` why it does not. What fails in another way than by not being run fails everywhere.
starts() {
  said=$(with_libraries "$new"; REMIT_STARTED_AS='' "$new/remit" --version 2>&1 >/dev/null </dev/null)
  case $? in 0) said= && return ;; 126) ;; *) hopeless=y ;; esac
  said=${said#"$line_end"}
  said=${said%%"$line_end"*}
  false
}

settle() (
  with_libraries "$new"
  REMIT_STARTED_AS='' exec "$new/remit" __settle "$new" "$1"
)

unpack() {
  umask_was=$(umask)
  umask 077
  new=
  trap 'rm -rf "$new"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir -p "$1" 2>/dev/null && ours "$1" && chmod 700 "$1" 2>/dev/null &&
    new=$(mktemp -d "$1/.new.XXXXXX" 2>/dev/null) &&
    extract 2>/dev/null && [ -f "$new/.$name" ] && state "$new" >"$new/.whole" 2>/dev/null &&
    starts && settle "$1/$name" </dev/null >/dev/null 2>&1
  [ -z "$new" ] || rm -rf "$new"
  trap - EXIT HUP INT TERM
  umask "$umask_was"
  whole "$1"
}

cache=
case ${XDG_CACHE_HOME-} in
/*) cache=$XDG_CACHE_HOME ;;
*) case ${HOME-} in /*) [ ! -d "$HOME" ] || cache=${HOME%/}/.cache ;; esac ;;
esac
if [ -n "$cache" ] && { whole "$cache/remit" || { may_be_made "$cache" && unpack "$cache/remit"; }; }; then
  place=$cache/remit/$name
else
  for temp in "${TMPDIR-}" /tmp /var/tmp; do
    [ -z "$hopeless" ] || break
    case $temp in /*) [ -d "$temp" ] || continue ;; *) continue ;; esac
    temp=${temp%/}/remit-$(id -u)
    if whole "$temp" || unpack "$temp"; then
      place=$temp/$name
      break
    fi
  done
fi
if [ -n "$place" ]; then
  if [ -n "$path_set" ]; then PATH=$path_was; else unset PATH; fi
  with_libraries "$place"
  REMIT_STARTED_AS=$0
  export REMIT_STARTED_AS
  # Python does not start on a directory.
  [ ! -d /dev/stdin ] || exec </dev/null
  exec "$place/remit" "$@"
fi
missing=
for tool in tail gzip tar xargs stat mktemp id mkdir chmod rm cat wc; do
  command -v $tool >/dev/null 2>&1 || missing="$missing${missing:+, }$tool"
done
if [ -n "$missing" ]; then
  echo "error: remit needs $missing to unpack itself, not found in $PATH" >&2
  echo "hint: install what is missing" >&2
elif [ -n "$hopeless" ]; then
  echo "error: remit is unpacked whole, but does not start on this system${said:+: $said}" >&2
  echo "hint: this file needs @SYSTEM@; elsewhere install remit with pip" >&2
elif (unset GZIP; payload | gzip -t) 2>/dev/null; then
  echo "error: remit cannot unpack itself: no directory that takes @NEEDED@ MB and may be run from, tried ${cache:-no cache directory}, ${TMPDIR:+$TMPDIR, }/tmp and /var/tmp${said:+; the last of them: $said}" >&2
  echo "hint: let XDG_CACHE_HOME or TMPDIR name one" >&2
elif size=$(($(wc -c <"$self"))) && [ $size = $bytes ]; then
  echo "error: $self is damaged: its $size bytes are not those that it was made of" >&2
  echo "hint: download it again, and compare its sha256" >&2
else
  echo "error: $self is damaged, or was not downloaded whole: $size of $bytes bytes" >&2
  echo "hint: download it again, and compare its sha256" >&2
fi
exit 9
}
