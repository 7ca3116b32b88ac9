local Board = require("chess.board")
local pieces = require("chess.piece")

local function board_with(letter, square)
  return Board.new():place(pieces.make(letter), square)
end

describe("Board", function()
  local board

  before_each(function()
    board = board_with("r", "a1")
  end)

  it("knows what stands where", function()
    assert.is_truthy(board:at("a1"))
  end)

  it("refuses a square that is taken", function()
    assert.has_error(function() board:place(pieces.make("q"), "a1") end)
  end)
end)
