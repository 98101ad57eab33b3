/* OpenMP threads compute together and call MPI one at a time, each with its own tag. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

#define N_THREADS 3
#define N 5000

int main(int argc, char **argv)
{
    int provided, rank, size;
    static double field[N], totals[N_THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    omp_set_num_threads(N_THREADS);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++)
            field[i] = field[i] * 0.5 + (rank + 1) * 1e-3 * i;
#pragma omp parallel
        {
            int thread = omp_get_thread_num();
            double own = 0, received = 0;
            for (int i = thread; i < N; i += N_THREADS)
                own += field[i];
            /* In the order of threads, so that every rank meets its neighbors. */
#pragma omp for ordered schedule(static, 1)
            for (int turn = 0; turn < N_THREADS; turn++) {
#pragma omp ordered
                MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, turn, &received, 1, MPI_DOUBLE,
                             (rank + size - 1) % size, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            totals[thread] += received;
        }
    }
    double all[N_THREADS];
    MPI_Reduce(totals, all, N_THREADS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (int thread = 0; thread < N_THREADS; thread++)
            printf("%d %a\n", thread, all[thread]);
    MPI_Finalize();
    return 0;
}
