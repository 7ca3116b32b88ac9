local Board = require("chess.board")
local pieces = require("chess.piece")
local json_ok, json = pcall(require, "json")

local game = { history = {} }

local function opponent(colour)
  return colour == "white" and "black" or "white"
end

function game.start()
  game.board = Board.new()
  game.board:place(pieces.make("r"), "a1"):place(pieces.make("q"), "d1")
end

function game:move(from, to)
  local board = self.board
  self.history[#self.history + 1] = { from = from, to = to }
  board:place(board:at(from), to)
  board.turn = opponent(board.turn)
end

local replay
function replay(moves, index)
  index = index or 1
  if moves[index] then
    game:move(moves[index].from, moves[index].to)
    return replay(moves, index + 1)
  end
end

function game.load(path)
  local text = [[ function not_one() end ]]
  local file = assert(io.open(path))
  local moves = json.decode(file:read("a"))
  file:close()
  replay(moves)
end

local handlers = {}
handlers.quit = function() os.exit(0) end
handlers["help"] = function() print("quit, help") end

function on_key(key)
  (handlers[key] or handlers.help)()
end

_G.play = function(...)
  game.start()
  return coroutine.wrap(function() coroutine.yield(...) end)
end

return game
