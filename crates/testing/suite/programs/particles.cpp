// C++ under observation: templates, exceptions around MPI calls, a reduction of the program's own,
// communicators by `MPI_Comm_split`, and threads that all call MPI.
#include <atomic>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mpi.h>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

template <typename T> MPI_Datatype type_of();
template <> MPI_Datatype type_of<int>() { return MPI_INT; }
template <> MPI_Datatype type_of<double>() { return MPI_DOUBLE; }

class Communicator {
public:
    explicit Communicator(MPI_Comm comm) : comm_(comm) {
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    Communicator(const Communicator &) = delete;
    ~Communicator() {
        if (comm_ != MPI_COMM_WORLD)
            MPI_Comm_free(&comm_);
    }
    std::unique_ptr<Communicator> split(int color) const {
        MPI_Comm part;
        MPI_Comm_split(comm_, color, rank_, &part);
        return std::make_unique<Communicator>(part);
    }
    template <typename T> std::vector<T> shift(const std::vector<T> &out, int tag) const {
        std::vector<T> in(out.size());
        MPI_Sendrecv(out.data(), int(out.size()), type_of<T>(), (rank_ + 1) % size_, tag, in.data(),
                     int(in.size()), type_of<T>(), (rank_ + size_ - 1) % size_, tag, comm_, MPI_STATUS_IGNORE);
        return in;
    }
    template <typename T> T sum(T value) const {
        T all{};
        MPI_Allreduce(&value, &all, 1, type_of<T>(), MPI_SUM, comm_);
        return all;
    }
    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm handle() const { return comm_; }

private:
    MPI_Comm comm_;
    int rank_ = 0, size_ = 0;
};

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// An exception passes frames that have just called MPI, and destructors that call it.
int risky(const Communicator &world, int depth) {
    auto part = world.split(world.rank() % 2);
    if (depth == 0)
        throw Failure("depth reached by " + std::to_string(part->sum(1)));
    return risky(*part, depth - 1) + part->sum(depth);
}

int count_failures(const Communicator &world) {
    int n_caught = 0;
    for (int depth = 0; depth < 3; depth++) {
        try {
            risky(world, depth);
        } catch (const Failure &failure) {
            n_caught += int(std::string(failure.what()).size());
        }
    }
    return world.sum(n_caught);
}

extern "C" void larger_magnitude(void *in, void *inout, int *n, MPI_Datatype *) {
    auto a = static_cast<double *>(in), b = static_cast<double *>(inout);
    for (int i = 0; i < *n; i++)
        b[i] = std::max(a[i] * a[i], b[i] * b[i]) == a[i] * a[i] ? a[i] : b[i];
}

double own_reduction(const Communicator &world) {
    MPI_Op op;
    MPI_Op_create(larger_magnitude, 1, &op);
    double mine = world.rank() % 2 ? -1.5 * world.rank() : 1.25 * world.rank(), all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, op, 0, world.handle());
    MPI_Op_free(&op);
    return all;
}

// Each thread has a communicator of its own.
std::vector<double> in_threads(int n_threads) {
    std::vector<MPI_Comm> comms(n_threads);
    for (auto &comm : comms)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<double> results(n_threads);
    std::vector<std::thread> threads;
    std::atomic<int> n_done{0};
    for (int t = 0; t < n_threads; t++) {
        threads.emplace_back([&, t] {
            Communicator own(comms[t]);
            std::vector<double> values(64 + t);
            std::iota(values.begin(), values.end(), own.rank() + 0.5 * t);
            for (int round = 0; round < 50; round++)
                values = own.shift(values, t);
            results[t] = own.sum(std::accumulate(values.begin(), values.end(), 0.0));
            // No thread ends before all have called MPI, so that each is seen as one of its own.
            for (n_done++; n_done < n_threads;)
                std::this_thread::yield();
        });
    }
    for (auto &thread : threads)
        thread.join();
    return results;
}

} // namespace

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 3);
    {
        Communicator world(MPI_COMM_WORLD);
        int n_failures = count_failures(world);
        double largest = own_reduction(world);
        std::vector<double> results = in_threads(3);
        if (world.rank() == 0) {
            std::printf("failures %d largest %a\n", n_failures, largest);
            for (double result : results)
                std::printf("thread %a\n", result);
        }
    }
    MPI_Finalize();
    return 0;
}
