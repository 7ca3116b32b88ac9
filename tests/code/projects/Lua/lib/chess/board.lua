--- A board and the pieces on it.
local Piece = require("chess.piece")
local squares <const> = require "chess.squares"

local Board = {}
Board.__index = Board
Board.SIZE = 8

local insert, remove = table.insert, table.remove

--- An empty board.
-- @return Board
function Board.new(pieces)
  return setmetatable({ pieces = pieces or {}, turn = "white" }, Board)
end

function Board:place(piece, square)
  local index = squares.index(square)
  if self.pieces[index] then
    error(("square %s is taken"):format(square), 2)
  end
  self.pieces[index] = piece
  return self
end

function Board:moves(square)
  local piece = self:at(square)
  local found = {}
  local function try(file, rank)
    if squares.inside(file, rank) then
      insert(found, squares.name(file, rank))
    end
  end
  for _, step in ipairs(piece:steps()) do
    try(step[1], step[2])
  end
  return found
end

Board.at = function(self, square)
  return self.pieces[squares.index(square)]
end

Board["clear"] = function(self)
  self.pieces = {}
end

function Board.__eq(a, b)
  return tostring(a) == tostring(b)
end

Board.__tostring = function(self)
  local rows = {}
  for index = 1, Board.SIZE do
    rows[#rows + 1] = table.concat(self:row(index), " ")
  end
  return table.concat(rows, "\n")
end

function Board:row(index)
  local row = {}
  squares.each(index, function(square)
    local piece = self.pieces[square]
    insert(row, piece and piece.letter or ".")
  end)
  return row
end

return Board
