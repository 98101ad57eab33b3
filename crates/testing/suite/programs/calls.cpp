// Exceptions, virtual functions, recursion and templates between MPI calls. Says at its end how often all
// ranks called what.
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#define KEPT __attribute__((noinline, noclone))

static int rank;
static long n_thrower, n_middle, n_direct, n_again, n_plain, n_derived, n_guards, n_sum, n_depth, n_limited;

struct Guard {
    KEPT ~Guard() { n_guards++; }
};

KEPT int thrower(int x) {
    n_thrower++;
    if (x & 1) throw x;
    return x;
}

KEPT int middle(int x) {
    n_middle++;
    Guard guard;
    return thrower(x) + 1;
}

KEPT int direct(int x) {
    n_direct++;
    try {
        return thrower(x);
    } catch (int value) {
        return -value;
    }
}

KEPT int again(int x) {
    n_again++;
    try {
        return middle(x);
    } catch (...) {
        throw;
    }
}

struct Base {
    KEPT virtual int value(int x) {
        n_plain++;
        return x;
    }
    virtual ~Base() = default;
};

struct Derived : Base {
    KEPT int value(int x) override {
        n_derived++;
        if (3 < x) throw std::runtime_error("too large");
        return 2 * x;
    }
};

template <class Number>
KEPT Number sum(const std::vector<Number> &numbers) {
    n_sum++;
    Number total = 0;
    for (Number number : numbers) total += number;
    return total;
}

KEPT int depth(int n) {
    n_depth++;
    return n == 0 ? thrower(1) : depth(n - 1) ^ n;  // a mere sum would become a loop
}

KEPT int limited(int n) noexcept {
    n_limited++;
    try {
        return depth(n);
    } catch (int value) {
        return 100 * n + value;
    }
}

static void say(const char *name, long n_own) {
    long n;
    MPI_Reduce(&n_own, &n, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("called %ld %s\n", n, name);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::unique_ptr<Base> objects[] = {std::make_unique<Base>(), std::make_unique<Derived>()};
    for (int round = 0; round < 10; round++) {
        int whole = direct(round) + limited(round % 4);
        try {
            whole += again(round + rank);
        } catch (int value) {
            whole -= value;
        }
        try {
            whole += objects[(round + rank) % 2]->value(round);
        } catch (const std::exception &error) {
            whole += error.what()[0];
        }
        double own = whole * 0.1, all;
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        std::vector<double> numbers(5, all);
        double total = sum(numbers);
        if (rank == 0) std::printf("%d %a\n", round, total);
    }
    say("thrower(int)", n_thrower);
    say("middle(int)", n_middle);
    say("direct(int)", n_direct);
    say("again(int)", n_again);
    say("Base::value(int)", n_plain);
    say("Derived::value(int)", n_derived);
    say("Guard::~Guard()", n_guards);
    say("sum<double>(std::vector<double, std::allocator<double> > const&)", n_sum);
    say("depth(int)", n_depth);
    say("limited(int)", n_limited);
    std::fflush(stdout);
    MPI_Finalize();
    return rank == 0 ? 4 : 0;
}
