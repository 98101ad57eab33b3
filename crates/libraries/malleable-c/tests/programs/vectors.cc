/* Every kind of data in vectors, with contents that encode their positions, which each iteration checks.
 *
 *   vectors [--schedule ...]     exits with 1 on an error; `vectors throw` shows how an exception comes out
 */
#include <cstdio>
#include <cstring>
#include <malleable.hpp>
#include <string>

namespace {

constexpr uint64_t n_rows = 500, n_iterations = 60;

uint32_t length_of(uint64_t row)
{
    return static_cast<uint32_t>(row % 3);
}

struct State {
    double sum = 0.0;
    std::vector<uint64_t> plain, wide, columns, body;
    std::vector<uint32_t> lengths, crowds;
    std::vector<float> values;
    std::vector<double> particles;
    std::vector<std::string> names;
    MPI_Comm own = MPI_COMM_NULL;
    int n_wrong = 0;

    void expect(bool is_right, const char *what, uint64_t at)
    {
        if (!is_right && n_wrong++ < 5)
            std::fprintf(stderr, "wrong: %s at %llu\n", what, static_cast<unsigned long long>(at));
    }

    void begin(const malleable_share &share)
    {
        for (uint64_t row = share.first; row < share.first + share.n_rows; row++) {
            plain.push_back(row);
            wide.insert(wide.end(), {row, row * row});
            lengths.push_back(length_of(row));
            for (uint32_t k = 0; k < length_of(row); k++) {
                columns.push_back((row << 40) + k);
                values.push_back(static_cast<float>(k));
            }
            names.push_back(std::string(row % 4, 'a'));
        }
        move_particles(share, 0);
    }

    void move_particles(const malleable_share &share, uint64_t iteration)
    {
        crowds.clear();
        particles.clear();
        for (uint64_t row = share.first; row < share.first + share.n_rows; row++) {
            crowds.push_back(length_of(row + iteration));
            particles.insert(particles.end(), crowds.back(), static_cast<double>(row));
        }
    }

    void check(const malleable_share &share, uint64_t iteration)
    {
        uint64_t held = share.n_rows, entry = 0, particle = 0;
        MPI_Allreduce(MPI_IN_PLACE, &held, 1, MPI_UINT64_T, MPI_SUM, own);
        expect(held == n_rows && plain.size() == share.n_rows, "rows", held);
        expect(sum == static_cast<double>(iteration), "sum", iteration);
        for (uint64_t i = 0; i < share.n_rows; i++) {
            const uint64_t row = share.first + i;
            expect(plain[i] == row + iteration, "plain", row);
            expect(wide[2 * i] == row && wide[2 * i + 1] == row * row, "wide", row);
            expect(lengths[i] == length_of(row), "length", row);
            for (uint32_t k = 0; k < lengths[i]; k++, entry++)
                expect(columns[entry] == (row << 40) + k && values[entry] == static_cast<float>(k), "entry", row);
            expect(crowds[i] == length_of(row + iteration), "crowd", row);
            for (uint32_t k = 0; k < crowds[i]; k++)
                expect(particles[particle++] == static_cast<double>(row), "particle", row);
            expect(names[i] == std::string(row % 4 + iteration % 2, 'a'), "name", row);
        }
        MPI_Allreduce(MPI_IN_PLACE, &n_wrong, 1, MPI_INT, MPI_MAX, own);
    }

    void step(const malleable_share &share, uint64_t iteration)
    {
        for (uint64_t &number : plain)
            number++;
        for (uint64_t i = 0; i < share.n_rows; i++)
            names[i] = std::string((share.first + i) % 4 + (iteration + 1) % 2, 'a');
        move_particles(share, iteration + 1);
        sum += 1.0;
    }
};

int run(int argc, char **argv)
{
    sintonia::Malleable run(argc, argv, "--foreground --check-every 1 --redistribution sync");
    const bool throws = argc == 2 && std::strcmp(argv[1], "throw") == 0;
    State state;
    const malleable_share &share = run.rows_of(n_rows);
    run.variable("sum", state.sum);
    run.rows("plain", state.plain);
    run.constant_rows("wide", state.wide, 2);
    run.constant_uneven_rows("matrix", state.lengths, state.columns, state.values);
    run.uneven_rows("particles", state.crowds, state.particles);
    run.packed_rows(
        "names", state.names,
        [](const std::string &name, std::vector<char> &bytes) { bytes.assign(name.begin(), name.end()); },
        [](std::string &name, const std::vector<char> &bytes) { name.assign(bytes.begin(), bytes.end()); });
    run.each_size(
        [&] {
            if (throws)
                throw std::runtime_error("no communicator");
            MPI_Comm_dup(run.comm(), &state.own);
        },
        [&] { MPI_Comm_free(&state.own); });
    const malleable_share &cells = run.blocks_3d({4, 5, 25});
    run.rows("body", state.body);
    if (!run.is_new()) {
        state.begin(share);
        state.body.assign(cells.n_rows, 7);
    }
    int n_resized = 0;
    for (uint64_t i = 0; i < n_iterations && run.resize_point(i); i++) {
        n_resized += run.is_resized();
        state.check(share, i);
        state.expect(state.body == std::vector<uint64_t>(cells.n_rows, 7), "body", i);
        state.step(share, i);
    }
    int rank = -1, size = 0;
    if (!run.has_left()) {
        MPI_Comm_rank(run.comm(), &rank);
        MPI_Comm_size(run.comm(), &size);
    }
    if (rank == 0)
        std::printf("%d resizes, %d ranks, %d wrong\n", n_resized, size, state.n_wrong);
    run.end();
    return state.n_wrong != 0;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::printf("caught: %s\n", error.what());
        std::fflush(stdout);
        return 1;
    }
}
