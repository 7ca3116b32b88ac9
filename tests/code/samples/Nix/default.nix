# The shop as a package.
{ pkgs ? import <nixpkgs> { }, lib ? pkgs.lib, ... }:

let
  version = "1.2";

  # Builds one part.
  part = { name, deps ? [ ] }@args:
    pkgs.stdenv.mkDerivation (args // { pname = name; inherit version; });

  twice = f: x: f (f x);
  helpers = import ./helpers.nix { inherit lib; };
in
rec {
  cart = part { name = "cart"; };
  shop = part { name = "shop"; deps = [ cart helpers.money ]; };

  meta.description = "A shop";
  checks.${pkgs.system}.unit = pkgs.runCommand "unit" { } "touch $out";

  inherit (lib) mkIf mkMerge;
}
