# The shop.
defmodule Shop.Basket do
  @moduledoc "Goods."
  use GenServer
  alias Shop.{Money, Item}
  alias Shop.Price, as: P
  import Enum, only: [map: 2]
  require Logger
  @limit 10
  defstruct [:owner, total: 0]
  @type t :: %__MODULE__{}
  @behaviour Sellable

  @doc "Adds."
  @spec add(t, Item.t) :: t
  def add(%__MODULE__{} = basket, item \\ nil) when not is_nil(item) do
    basket |> check(item) |> Money.total()
    map([1], fn x -> helper(x) end)
  end

  def empty, do: new(nil)
  defp check(b, i), do: {b, i}
  defmacro twice(x) do
    quote do: unquote(x)
  end
  defguard is_big(x) when x > 1
  @callback sell(t) :: boolean
  defdelegate run(x), to: Other
end
defprotocol Sellable do
  def sell(x)
end
defimpl Sellable, for: Shop.Basket do
  def sell(b), do: Shop.Basket.add(b)
end
defmodule BasketTest do
  use ExUnit.Case
  describe "add" do
    test "adds things", %{b: b} do
      assert add(b) == 1
    end
  end
end
