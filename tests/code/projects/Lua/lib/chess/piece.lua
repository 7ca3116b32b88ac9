local class = require("chess.class")

local Piece = class("Piece")

function Piece:init(colour)
  self.colour = colour
end

function Piece:steps() return {} end

local Rook = class("Rook", Piece)
function Rook:steps()
  local steps = {}
  for n = 1, 7 do steps[#steps + 1] = { n, 0 } end
  return steps
end

local Queen = class("Queen", Rook)
Queen.letter = "Q"
function Queen:steps()
  local steps = Rook.steps(self)
  for n = 1, 7 do steps[#steps + 1] = { n, n } end
  return steps
end

return { Piece = Piece, Rook = Rook, Queen = Queen, make = function(name, ...)
  local kinds = { r = Rook, q = Queen }
  return kinds[name].new(...)
end }
