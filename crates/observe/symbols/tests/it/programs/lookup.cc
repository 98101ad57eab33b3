// Functions and variables in the ways in which C++ programs have them.
#include <string>

namespace fire {

int rows = 3;
namespace {
int hidden = 4;
}

struct Base {
    long id = 1;
};

class Front : Base {
public:
    static double limit;
    static inline int level = 2;
    static constexpr int fixed = 9;
    __attribute__((noinline)) int advance(int n);
    __attribute__((noinline)) int advance(double x) const;
    virtual ~Front() {}
    int width = 5;
};

double Front::limit = 1.5;
Front front;

int Front::advance(int n) { return n + rows + level + hidden; }
int Front::advance(double x) const { return (int)(x * limit) + width; }

template <typename T> __attribute__((noinline)) T largest(T a, T b) { return a < b ? b : a; }

template <typename T> struct Box {
    static T content;
};
template <> int Box<int>::content = 8;

struct Owner {
    Owner(const Owner &other) : n(other.n) {}
    Owner(int n) : n(n) {}
    int n;
};

__attribute__((noinline)) int take(Owner owner, int &n, bool flag) { return owner.n + n + flag; }

}  // namespace fire

int main(int argc, char **) {
    fire::rows += argc;
    fire::hidden += argc;
    fire::Front::level += argc;
    fire::Box<int>::content += argc;
    int sum = fire::front.advance(argc) + fire::front.advance(1.0) + fire::largest(argc, 3);
    sum += (int)fire::largest(1.0 * argc, 3.0) + fire::take(fire::Owner(2), argc, true);
    return sum + fire::Box<int>::content == -1;
}
