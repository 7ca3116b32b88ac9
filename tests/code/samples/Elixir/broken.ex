defmodule Good do
  def one, do: 1
end

defmodule Bad do
  def two( do
end

defmodule Fine do
  def three, do: Good.one()
end
