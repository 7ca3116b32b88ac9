{ lib }: { name = lib.concat "a" "b"; }
