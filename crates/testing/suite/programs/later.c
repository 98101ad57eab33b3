/* Loads a plug-in while it runs and calls its function.
 *
 *     later probed PLUGIN.so     until the function has probes, and then 100 times
 *     later tuned PLUGIN.so      loads it once `go` was set, and calls until `columns` was set to 9 on all ranks
 *
 * Then it unloads the plug-in, goes on for a while, and rank 0 prints "done". A wait that takes a minute ends the job. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int go;
volatile int columns = 3;
static void *plugin;
static int (*step)(int);

static volatile int n_marks;

__attribute__((noipa)) void mark(void) { n_marks++; }

static void load(const char *path)
{
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    step = plugin ? (int (*)(int))dlsym(plugin, "plugin_step") : NULL;
    if (!step)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

/* Whether the function begins with a jump or a trap instead of its own instructions. */
static int is_probed(void)
{
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const unsigned char *code = (const unsigned char *)step;
    if (memcmp(code, landing, sizeof landing) == 0)
        code += sizeof landing;
    return *code == 0xe9 || *code == 0xeb || *code == 0xcc;
}

/* One iteration; returns whether `condition` holds on all ranks. */
static int all_have(int condition)
{
    int all;
    mark();
    usleep(1000);
    MPI_Allreduce(&condition, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int is_tuned = argc > 2 && strcmp(argv[1], "tuned") == 0;
    double begin = MPI_Wtime();
    for (int i = 0, is_done = 0; !is_done; i++) {
        if (60 < MPI_Wtime() - begin)
            MPI_Abort(MPI_COMM_WORLD, 7);
        if (!plugin && all_have(!is_tuned || go))
            load(argv[2]);
        if (plugin) {
            step(i);
            is_done = all_have(is_tuned ? columns == 9 : is_probed());
        }
    }
    for (int i = 0; i < 100; i++)
        step(i);
    dlclose(plugin);
    for (int i = 0; i < 50; i++)
        all_have(1);
    if (rank == 0)
        puts("done");
    MPI_Finalize();
    return 0;
}
