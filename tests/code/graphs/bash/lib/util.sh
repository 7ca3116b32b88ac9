each_file() { for f in *; do "$1" "$f"; done; }
