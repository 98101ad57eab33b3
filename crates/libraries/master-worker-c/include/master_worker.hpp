/* For programs in C++: exceptions as failures, since none may leave a function that the library calls. */
#ifndef MASTER_WORKER_HPP
#define MASTER_WORKER_HPP

#include "master_worker.h"

#include <exception>

namespace mw {

/* Calls `function`, and returns what it returns, or a failure with the words of its exception:
 *
 *   int work(void *state, mw_tasks tasks, mw_bytes shared, mw_bytes input, mw_buffer *result)
 *   {
 *       return mw::guarded([&] { return compute(tasks, result); });
 *   }
 */
template <typename Function>
int guarded(Function function)
{
    try {
        return function();
    } catch (const std::exception &error) {
        return mw_fail(error.what());
    } catch (...) {
        return mw_fail("an exception that is no std::exception");
    }
}

} // namespace mw

#endif
