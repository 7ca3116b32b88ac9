// Shapes on a canvas, and what draws them.
#include "canvas.hpp"

#include <memory>
#include <vector>

using namespace std::literals;
using std::swap;

namespace draw::shapes {

namespace {
constexpr int kLimit = 64;
int hidden(int value) { return value + kLimit; }
}  // namespace

inline namespace v2 {
struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point& a, const Point& b) { return a.x == b.x; }
};
}  // namespace v2

/// Something that can be drawn.
class Shape {
 public:
  explicit Shape(std::string name) : name_(std::move(name)) { registry().add(this); }
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;
  virtual ~Shape() = default;

  virtual double area() const noexcept = 0;
  const std::string& name() const { return name_; }
  operator bool() const { return !name_.empty(); }

 protected:
  static Registry& registry();
  std::string name_;
  Point *corner_, *other_;
};

/// A list of what it is told to hold.
template <typename T, std::size_t N = 8>
class Stack final : public Base<T>, private detail::Locked {
 public:
  using value_type = T;
  enum class Order : char { First, Last = 'l' };

  Stack() = default;
  T& top();
  void push(T value);

  template <typename... Args>
  T& emplace(Args&&... args) {
    this->check();
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    items_.push_back(made.get());
    return Stack::last(items_);
  }

  T operator[](int index) const { return items_[index]; }

 private:
  std::vector<T> items_;
  std::function<void(const T&)> hook_;
  struct Node {
    Node* next;
  };
};

template <typename T, std::size_t N>
T& Stack<T, N>::top() {
  return items_.back();
}

template <typename T, std::size_t N>
void Stack<T, N>::push(T value) {
  auto later = [this](int count) { return hidden(count); };
  later(1);
  hook_(value);
}

Registry& Shape::registry() {
  static Registry instance{16};
  return instance;
}

class CANVAS_API Circle : public Shape {
 public:
  Circle(double radius);
  double area() const noexcept override;

 private:
  double radius_;
};

Circle::Circle(double radius) : Shape("circle"s), radius_(radius) {}

double Circle::area() const noexcept { return math::square<double>(radius_) * kPi; }

template <typename T>
concept Drawable = requires(T value) { value.draw(); };

using Shapes = std::vector<std::shared_ptr<Shape>>;

Task<int> render(Shapes& all, Canvas* canvas) {
  for (auto& each : all) {
    co_await canvas->draw(*each);
    draw::detail::trace(each->name());
  }
  Circle unit{1.0};
  Shape* fresh = new Circle(2.0);
  std::sort(all.begin(), all.end(), byArea);
  co_return fresh->area() + unit.area();
}

}  // namespace draw::shapes

draw::shapes::Shape::Order draw::shapes::largest(const Shapes& größen) { return pick(größen); }

bool operator<(const Point& a, const Point& b) { return a.x < b.x; }

extern "C" int canvas_version(void) { return 2; }

TEST(StackTest, PushesWhatItIsTold) {
  Stack<int> stack;
  stack.push(1);
  EXPECT_EQ(stack.top(), 1);
}

TEST_F(CanvasFixture, DrawsCircles) { render(shapes_, &canvas_); }
