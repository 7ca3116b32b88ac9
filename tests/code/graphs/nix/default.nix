let
  lib = import ./lib { };
  shop = import ./shop.nix { inherit lib; };
  twice = x: lib.concat x x;
in { inherit shop; cart = twice "a"; }
