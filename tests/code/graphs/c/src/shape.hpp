class Shape {
public:
  virtual double area() const;
  void draw();
};
namespace geo { double scale(double); }
