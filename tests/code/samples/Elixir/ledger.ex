defmodule Ledger do
  @moduledoc """
  A ledger of entries.

  It is a process.
  """

  use GenServer, restart: :transient
  alias Ledger.{Entry, Store}
  alias Ledger.Money, as: M
  import Ecto.Query, only: [from: 2]
  require Logger

  @type id :: pos_integer()
  @typep state :: %{entries: [Entry.t()], owner: String.t()}
  @opaque handle :: reference()
  @callback handle_entry(Entry.t(), keyword()) :: :ok | {:error, term()}
  @optional_callbacks handle_entry: 2
  @limit 100
  @names ~w(credit debit)a

  defstruct [:owner, entries: []]

  defmodule Full do
    defexception [:limit, message: "full"]
  end

  # Client

  @doc """
  Starts one.
  """
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(opts \\ []) do
    GenServer.start_link(__MODULE__, opts, name: __MODULE__)
  end

  def add(pid, %Entry{} = entry), do: GenServer.call(pid, {:add, entry})

  @doc "All of them."
  def entries(pid) when is_pid(pid), do: GenServer.call(pid, :entries)
  def entries(name) when is_atom(name) do
    name |> Process.whereis() |> entries()
  end

  defguardp is_amount(value) when is_integer(value) and value > 0

  # Server

  @impl true
  def init(opts), do: {:ok, %__MODULE__{owner: opts[:owner]}}

  @impl GenServer
  def handle_call({:add, entry}, _from, state) do
    with {:ok, checked} <- check(entry, @limit),
         :ok <- Store.save(checked) do
      {:reply, :ok, update_in(state.entries, &[checked | &1])}
    else
      {:error, reason} -> raise Full, limit: reason
    end
  end

  defp check(%{amount: amount} = entry, limit) when is_amount(amount) do
    cond do
      M.cents(amount) > limit -> {:error, limit}
      true -> {:ok, Enum.map([entry], &normalize/1) |> hd()}
    end
  end

  defp normalize(entry), do: Map.put(entry, :names, @names)

  defmacro audited(name, do: block) do
    quote do
      def unquote(name)(), do: unquote(block)
    end
  end

  defdelegate total(pid), to: Store, as: :sum
end

defprotocol Ledger.Printable do
  @doc "As text."
  @spec to_text(t) :: String.t()
  def to_text(value)
end

defimpl Ledger.Printable, for: Ledger.Entry do
  def to_text(%{amount: amount}), do: "#{amount}"
end
