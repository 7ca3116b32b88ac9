local M = {}

local files = "abcdefgh"

--[[ The number of a square, from 1.
     Errors for what is no square. ]]
function M.index(square)
  local file, rank = square:match("^([a-h])([1-8])$")
  if not file then
    error("no square: " .. square)
  end
  return (tonumber(rank) - 1) * 8 + files:find(file, 1, true)
end

function M.name(file, rank)
  return files:sub(file, file) .. rank
end

function M.inside(file, rank) return file >= 1 and file <= 8 and rank >= 1 and rank <= 8 end

M.each = function(rank, visit)
  for file = 1, 8 do visit((rank - 1) * 8 + file) end
end

local memo
memo = function(key)
  return key
end

M.math = {
  distance = function(a, b)
    return math.max(math.abs(a.file - b.file), math.abs(a.rank - b.rank))
  end,
  same = function(a, b) return a.file == b.file and a.rank == b.rank end,
}

function M.math.angle(a, b)
  return math.atan(b.rank - a.rank, b.file - a.file)
end

return M
