extern "C" void report(const char *what);
extern "C" [[noreturn]] void report_and_exit(const char *what);

namespace MPI {
struct Comm {
    void Send() const { report("binding"); }
};
}

namespace fire {
template <class T> struct Front {
    __attribute__((noinline)) void advance(T by) {
        if (by != 0) report("template"); // line 13
        MPI::Comm().Send();              // line 14
        asm volatile("");
    }
};
}

int main(int argc, char **) {
    fire::Front<double>().advance(argc);
    auto step = [](int) __attribute__((noinline)) { report_and_exit("lambda"); }; // line 22
    step(argc);
}
