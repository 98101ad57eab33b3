void report(const char *what);
void report_and_exit(const char *what) __attribute__((noreturn));
void from_library(void);

static inline __attribute__((always_inline)) void exchange(void) {
    report("inlined"); /* line 6 */
}

__attribute__((noinline)) void work(int n) {
    if (n != 0)
        report("plain"); /* line 11 */
    exchange();
    __asm__ volatile("");
}

/* The call is the last instruction: its return address lies in the next function. */
__attribute__((noinline, noreturn)) void stop(void) {
    report_and_exit("last"); /* line 18 */
}

int main(int argc, char **argv) {
    (void)argv;
#ifdef WITH_LIBRARY
    from_library();
#endif
    work(argc);
    stop();
}
