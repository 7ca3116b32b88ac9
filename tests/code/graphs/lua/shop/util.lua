local M = {}
M.twice = function(x) return M.once(x) end
function M.once(x) return x end
return M
