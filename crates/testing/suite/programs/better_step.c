/* A library with another `step` for `tuned.c`, to be loaded while that runs. */
double better_step(int iteration, double weight)
{
    return iteration * 1000.0 + weight;
}
