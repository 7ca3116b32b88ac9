defmodule Shop.Cart do
  alias Shop.Store
  alias Shop.Money, as: M
  import Shop.Texts
  @behaviour Shop.Filling
  def fill(cart), do: cart |> check() |> Store.save_all() |> M.total()
  defp check(cart), do: clean(cart)
end
defmodule Shop.Filling do
  @callback fill(any) :: any
end
