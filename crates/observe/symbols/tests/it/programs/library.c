void report(const char *what);

static __attribute__((noinline)) void hidden(void) {
    report("library"); /* line 4 */
    __asm__ volatile("");
}

void from_library(void) {
    hidden();
    __asm__ volatile("");
}
