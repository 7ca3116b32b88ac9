#include <string>

class Before {
 public:
  int size() const { return size_; }

 private:
  int size_ = 0;
};

int torn(int a, ) {
  if (a > ) {
    call(;
  }
}

namespace after {
class Inner : public Before {
 public:
  void run();
};

void Inner::run() { size(); }
}  // namespace after
