module Shop
  module Logging
    def log(what) = print_line(what)
    def print_line(what) = what
  end
  class Base
    def prepare; end
  end
end
