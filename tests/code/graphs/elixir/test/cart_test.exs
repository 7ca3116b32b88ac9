defmodule Shop.CartTest do
  use ExUnit.Case
  alias Shop.Cart
  test "fills" do
    assert Cart.fill(1) == 1
  end
end
