-- The shop.
local json = require("json")
local money = require "shop.money"

local M = {}
M.VERSION = "1"
LIMIT = 10

--- Adds things.
-- @param a one
function M.add(a, b)
  return money.sum(a, b)
end

function M:total()
  local function each(item)
    return item:price() + helper(item)
  end
  return each(self)
end

local function helper(x)
  print(x)
  return M.add(x, 1)
end

M.sub = function(a) return a end
local twice = function(f) f() end
function global_one() end

local Class = { name = "x", run = function(self) self:stop() end }
setmetatable(Class, { __index = M })
return M
