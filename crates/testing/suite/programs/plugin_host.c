/* Loads a plug-in at run time and lets it call MPI.
 *
 *     plugin_host PLUGIN.so [unload] */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int) = plugin ? (int (*)(int))dlsym(plugin, "plugin_run") : NULL;
    if (!run) {
        fprintf(stderr, "no plug-in: %s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    int result = 0;
    for (int round = 0; round < 20; round++)
        result += run(round);
    if (argc > 2)
        dlclose(plugin);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("plug-in %d\n", result);
    MPI_Finalize();
    return 0;
}
