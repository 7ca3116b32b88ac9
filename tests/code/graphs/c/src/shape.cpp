#include "shape.hpp"
double Shape::area() const { return geo::scale(1.0); }
void Shape::draw() { area(); }
namespace geo { double scale(double x) { return x; } }
