require "minitest/autorun"
require_relative "../lib/garden"

class BedTest < Minitest::Test
  def setup
    @bed = Garden::Bed.new("herbs", size: 2)
  end

  def test_it_fills
    2.times { @bed << Garden::Plant.new }
    assert @bed.full?
    assert_raises(Garden::Overfull) { @bed << Garden::Plant.new }
  end

  def test_it_compares
    assert_operator @bed, :<, Garden::Bed.new("roots")
  end

  private

  def beds(count) = Array.new(count) { |index| Garden::Bed.new("bed #{index}") }
end
