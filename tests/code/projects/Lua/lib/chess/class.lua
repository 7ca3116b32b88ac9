-- Classes with one parent.
local function inherit(child, parent)
  return setmetatable(child, { __index = parent })
end

return function(name, parent)
  local class = { __name = name }
  class.__index = class
  if parent then inherit(class, parent) end

  function class.new(...)
    local object = setmetatable({}, class)
    if object.init then object:init(...) end
    return object
  end

  function class:is(other)
    local at = getmetatable(self)
    while at do
      if at == other then return true end
      at = getmetatable(at)
    end
    return false
  end

  return class
end
