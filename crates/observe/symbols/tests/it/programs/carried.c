/* A program that contains its own description and the addresses of the names in it. */
struct entry { char name[40]; const void *address; unsigned long n_bytes; };

static volatile int wished = 3;
static volatile double filled;

static __attribute__((noinline)) int step(int n) { return n * wished + (int)filled; }

static __attribute__((used, retain, section(".sintonia.names"))) struct entry entries[] = {
    { "carried_wish", (const void *)&wished, sizeof wished },
    { "carried_share", (const void *)&filled, sizeof filled },
    { "carried_step", (const void *)step, 0 },
};

__asm__(".pushsection .note.sintonia,\"a\",@note\n"
        ".balign 4\n"
        ".long 9, 2f - 1f, 1\n"
        ".asciz \"Sintonia\"\n"
        ".balign 4\n"
        "1: .ascii \"format = 1\"\n"
        "2: .balign 4\n"
        ".popsection");

int main(int argc, char **argv)
{
    (void)argv;
    return step(argc) == 0;
}
