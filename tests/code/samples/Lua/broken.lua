local function good() return 1 end
function bad( return end end
function fine() return good() end
