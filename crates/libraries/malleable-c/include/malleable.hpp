/* Malleable programs in C++: data in `std::vector`, lambdas with each size, exceptions as failures.
 *
 *   sintonia::Malleable run(argc, argv);
 *   std::vector<double> heat;
 *   const malleable_share &share = run.rows_of(n_rows);
 *   run.rows("heat", heat);
 *   run.each_size([&] { neighbors = find(run.comm(), share); }, [&] { neighbors.free(); });
 *   if (!run.is_new())
 *       heat.assign(share.n_rows, 0.0);
 *   for (uint64_t i = 0; i < n && run.resize_point(i); i++)
 *       step(heat, share, run.comm());
 *   if (!run.has_left())
 *       print(heat, run.comm());
 *   run.end();
 *
 * Vectors and values stay where they are until `end`, and so does all that functions of `each_size` refer to. What arrives
 * is copied into a vector once more than into an array of `malloc`. `malleable.h` says what each function does; this header
 * has all that a program calls. */
#ifndef MALLEABLE_HPP
#define MALLEABLE_HPP

#include "malleable.h"

#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mpi.h>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace sintonia {

/* Malleable program, as seen by one of its processes. Failures are `std::runtime_error`, and what a function of the
 * program throws that the library calls is thrown again by `resize_point` or `end`. A program that does not get to `end`
 * ends without finalizing MPI, so that the launcher ends its other ranks. */
class Malleable {
  public:
    /* Begins the program; the options of the library are taken from the arguments. `words` are the program's own defaults
     * of options, such as "--sizes 2:8". */
    Malleable(int &argc, char **&argv, const char *words = nullptr) : program_(malleable_begin_with(words, &argc, &argv))
    {
        if (program_ == nullptr)
            throw std::runtime_error(malleable_message());
    }

    Malleable(const Malleable &) = delete;
    Malleable &operator=(const Malleable &) = delete;

    /* Whether the data arrive at the first resize point, so that this process must not create them. */
    bool is_new() const { return malleable_is_new(program_); }

    /* Communicator of the present ranks; a resize replaces it. */
    MPI_Comm comm() const { return malleable_comm(program_); }

    /* Whether this process is no longer needed. */
    bool has_left() const { return code_ == MALLEABLE_LEFT; }

    /* Whether the last resize point changed the rows and the communicator. */
    bool is_resized() const { return code_ == MALLEABLE_RESIZED; }

    /* Point at which the size may change, before this iteration; false when this process leaves. */
    bool resize_point(uint64_t &iteration)
    {
        code_ = malleable_resize_point(program_, &iteration);
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        if (code_ > MALLEABLE_LEFT)
            throw std::runtime_error(malleable_message());
        return code_ != MALLEABLE_LEFT;
    }

    /* Ends the program; all processes call it. */
    void end()
    {
        check(malleable_end(std::exchange(program_, nullptr)));
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

    /* Registers a value that is the same on every rank: one that never changes, or one that does. */
    template <typename T> void constant(const char *called, T &value)
    {
        static_assert(std::is_trivially_copyable<T>::value, "the bytes of a value are copied");
        check(malleable_constant(program_, called, &value, sizeof value));
    }

    template <typename T> void variable(const char *called, T &value)
    {
        static_assert(std::is_trivially_copyable<T>::value, "the bytes of a value are copied");
        check(malleable_variable(program_, called, &value, sizeof value));
    }

    /* Sets the partition of the rows that are registered next. The result has the rows of this rank, now and later. */
    malleable_share &rows_of(uint64_t n_rows, int cut = MALLEABLE_EVEN, uint64_t with = 0)
    {
        shares_.push_back(malleable_share());
        check(malleable_rows_of(program_, n_rows, cut, with, &shares_.back()));
        return shares_.back();
    }

    /* The same for blocks of a body of so many planes, rows and columns; `malleable_block_of` describes them. */
    malleable_share &blocks_3d(const uint64_t (&extents)[3])
    {
        shares_.push_back(malleable_share());
        check(malleable_blocks_3d(program_, extents, &shares_.back()));
        return shares_.back();
    }

    /* Registers a vector with `n_per_row` elements for each row. */
    template <typename T> void rows(const char *called, std::vector<T> &elements, std::size_t n_per_row = 1)
    {
        const malleable_container container = contain(elements, n_per_row);
        check(malleable_contained_rows(program_, called, false, &container));
    }

    /* The same for a vector that never changes. */
    template <typename T> void constant_rows(const char *called, std::vector<T> &elements, std::size_t n_per_row = 1)
    {
        const malleable_container container = contain(elements, n_per_row);
        check(malleable_contained_rows(program_, called, true, &container));
    }

    /* Registers vectors whose rows have different numbers of elements, which `lengths` has. */
    template <typename... T>
    void uneven_rows(const char *called, std::vector<uint32_t> &lengths, std::vector<T> &...elements)
    {
        uneven(called, false, lengths, elements...);
    }

    /* The same for vectors that never change, such as the columns and the values of a sparse matrix. */
    template <typename... T>
    void constant_uneven_rows(const char *called, std::vector<uint32_t> &lengths, std::vector<T> &...elements)
    {
        uneven(called, true, lengths, elements...);
    }

    /* Registers rows of any type: `pack(row, bytes)` appends the bytes of a row to a vector, and `unpack(row, bytes)`
     * makes it of them. */
    template <typename Row, typename Pack, typename Unpack>
    void packed_rows(const char *called, std::vector<Row> &rows, Pack pack, Unpack unpack)
    {
        const malleable_share *share = shares_.empty() ? nullptr : &shares_.back();
        packers_.push_back({{}, {}, thrown_});
        Packer &packer = packers_.back();
        packer.pack = [&rows, pack](uint64_t row, std::vector<char> &bytes) { pack(rows.at(row), bytes); };
        packer.unpack = [&rows, unpack, share](uint64_t row, const std::vector<char> &bytes) {
            rows.resize(share->n_rows);
            unpack(rows.at(row), bytes);
        };
        check(malleable_packed_rows(program_, called, pack_row, unpack_row, &packer));
    }

    /* Has functions called with each size, by all ranks together: when a number of ranks begins, and when it ends. */
    void each_size(std::function<void()> begins, std::function<void()> ends = nullptr)
    {
        hooks_.push_back({std::move(begins), std::move(ends), thrown_});
        check(malleable_each_size(program_, begin_size, end_size, &hooks_.back()));
    }

  private:
    struct Packer {
        std::function<void(uint64_t, std::vector<char> &)> pack;
        std::function<void(uint64_t, const std::vector<char> &)> unpack;
        std::exception_ptr &thrown;
    };

    struct Hooks {
        std::function<void()> begins, ends;
        std::exception_ptr &thrown;
    };

    template <typename T> struct Elements {
        std::vector<T> &vector;
        std::size_t n_per_row;
    };

    static void check(int code)
    {
        if (code != 0)
            throw std::runtime_error(malleable_message());
    }

    /* Calls a function of the program; the first exception is thrown again when the library has returned. */
    template <typename Function> static void keep(std::exception_ptr &thrown, Function function)
    {
        try {
            function();
        } catch (...) {
            if (!thrown)
                thrown = std::current_exception();
        }
    }

    static void begin_size(malleable *, void *context)
    {
        Hooks &hooks = *static_cast<Hooks *>(context);
        if (hooks.begins)
            keep(hooks.thrown, hooks.begins);
    }

    static void end_size(malleable *, void *context)
    {
        Hooks &hooks = *static_cast<Hooks *>(context);
        if (hooks.ends)
            keep(hooks.thrown, hooks.ends);
    }

    static std::size_t pack_row(uint64_t row, void *room, void *context)
    {
        Packer &packer = *static_cast<Packer *>(context);
        std::vector<char> bytes;
        keep(packer.thrown, [&] { packer.pack(row, bytes); });
        if (room != nullptr && !bytes.empty())
            std::memcpy(room, bytes.data(), bytes.size());
        return bytes.size();
    }

    static void unpack_row(uint64_t row, const void *start, std::size_t n_bytes, void *context)
    {
        Packer &packer = *static_cast<Packer *>(context);
        keep(packer.thrown, [&] {
            const char *bytes = static_cast<const char *>(start);
            packer.unpack(row, std::vector<char>(bytes, bytes + n_bytes));
        });
    }

    /* Describes a vector; what it needs for that is kept until the end. */
    template <typename T> malleable_container contain(std::vector<T> &vector, std::size_t n_per_row)
    {
        static_assert(std::is_trivially_copyable<T>::value, "the bytes of elements are moved");
        static_assert(!std::is_same<T, bool>::value, "a vector of bool has no elements in memory");
        auto *elements = new Elements<T>{vector, n_per_row};
        kept_.push_back(Kept(elements, [](void *kept) { delete static_cast<Elements<T> *>(kept); }));
        malleable_container container = malleable_container();
        container.container = elements;
        container.element_bytes = n_per_row * sizeof(T);
        container.start = [](void *kept) -> void * { return static_cast<Elements<T> *>(kept)->vector.data(); };
        container.length = [](void *kept) {
            const auto *own = static_cast<Elements<T> *>(kept);
            return own->vector.size() / own->n_per_row;
        };
        container.resize = [](void *kept, std::size_t n_rows) -> void * {
            auto *own = static_cast<Elements<T> *>(kept);
            try {
                own->vector.resize(n_rows * own->n_per_row);
            } catch (const std::exception &) {
                return nullptr;
            }
            return own->vector.data();
        };
        return container;
    }

    template <typename... T>
    void uneven(const char *called, bool is_constant, std::vector<uint32_t> &lengths, std::vector<T> &...elements)
    {
        const malleable_container first = contain(lengths, 1), others[] = {contain(elements, 1)...};
        check(malleable_contained_uneven(program_, called, is_constant, &first, others, sizeof...(elements)));
    }

    using Kept = std::unique_ptr<void, void (*)(void *)>;

    malleable *program_;
    int code_ = MALLEABLE_CONTINUE;
    std::exception_ptr thrown_;
    std::deque<malleable_share> shares_;
    std::deque<Hooks> hooks_;
    std::deque<Packer> packers_;
    std::deque<Kept> kept_;
};

} // namespace sintonia

#endif
