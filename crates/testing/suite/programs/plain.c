/* A program without MPI. Also linked statically, where nothing can be preloaded.
 *
 *     plain EXIT_CODE */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int code = argc > 1 ? atoi(argv[1]) : 0;
    printf("plain %d\n", code);
    return code;
}
