def good
  1
end

def bad(
  2
end end

class Fine
  def ok; good; end
end
