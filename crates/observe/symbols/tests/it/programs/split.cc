// A function with a rare part that the compiler moves out of it.
#include <stdexcept>
#include <string>

__attribute__((noinline)) int checked(int n) {
    if (n < 0) throw std::runtime_error("negative: " + std::to_string(n));
    return 2 * n;
}

int main(int argc, char **) { return checked(argc) == -1; }
