/* Runs the program: on the ranks of the launcher that started it, else on threads. */
#include "program.h"

int main(int argc, char **argv)
{
    struct job job = {0};
    mw_program program = program_of(&job);
    return mw_run(&program, argc, argv);
}
