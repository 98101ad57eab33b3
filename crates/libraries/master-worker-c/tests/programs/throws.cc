// Exceptions in a function that the library calls.
#include <master_worker.hpp>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

int next(void *, uint64_t iteration, mw_plan *plan, mw_buffer *)
{
    plan->n_tasks = iteration == 0 ? 8 : 0;
    return 0;
}

int work(void *state, mw_tasks, mw_bytes, mw_bytes, mw_buffer *)
{
    return mw::guarded([&] {
        if (*static_cast<std::size_t *>(state) == 2)
            throw 7;
        return static_cast<int>(std::vector<int>(3).at(*static_cast<std::size_t *>(state)));
    });
}

int recover(void *, mw_tasks, mw_bytes)
{
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::size_t place = static_cast<std::size_t>(argc < 2 ? 0 : argv[1][0] - '0');
    mw_program program = mw_program();
    program.state = &place;
    program.master_next = next;
    program.worker_work = work;
    program.master_recover = recover;
    return mw_run(&program, argc, argv);
}
