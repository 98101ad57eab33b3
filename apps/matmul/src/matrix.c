/* Square matrices; see matrix.h. */
#include "matrix.h"

#include <stdlib.h>
#include <string.h>

static const int N_VALUES = 7;
/* A block is 128 KiB of b, so that the time of a product grows with dim^3, whatever the caches. */
enum { K_BLOCK = 64, J_BLOCK = 256 };

static double value_a(int row, int column)
{
    return (row + 2 * column) % N_VALUES;
}

static double value_b(int row, int column)
{
    return (3 * row + column) % N_VALUES - 1;
}

double *matrix_new(int n_rows, int dim)
{
    return malloc((size_t)n_rows * (size_t)dim * sizeof(double));
}

void init_a(double *a, int dim)
{
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            a[(size_t)i * dim + j] = value_a(i, j);
}

void init_b(double *b, int dim)
{
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            b[(size_t)i * dim + j] = value_b(i, j);
}

/* Adds the contribution of a block of b, which stays in the cache, to all rows. */
static void multiply_block(const double *a, const double *b, double *c, int n_rows, int dim,
                           int k0, int j0)
{
    int k_end = k0 + K_BLOCK < dim ? k0 + K_BLOCK : dim;
    int j_end = j0 + J_BLOCK < dim ? j0 + J_BLOCK : dim;
    for (int i = 0; i < n_rows; i++)
        for (int k = k0; k < k_end; k++) {
            double factor = a[(size_t)i * dim + k];
            for (int j = j0; j < j_end; j++)
                c[(size_t)i * dim + j] += factor * b[(size_t)k * dim + j];
        }
}

void multiply(const double *a, const double *b, double *c, int n_rows, int dim)
{
    memset(c, 0, (size_t)n_rows * dim * sizeof(double));
    for (int k0 = 0; k0 < dim; k0 += K_BLOCK)
        for (int j0 = 0; j0 < dim; j0 += J_BLOCK)
            multiply_block(a, b, c, n_rows, dim, k0, j0);
}

bool is_product(const double *c, int dim)
{
    double expected = 0.0;
    for (int k = 0; k < dim; k++) {
        double column_of_a = 0.0, row_of_b = 0.0;
        for (int i = 0; i < dim; i++) {
            column_of_a += value_a(i, k);
            row_of_b += value_b(k, i);
        }
        expected += column_of_a * row_of_b;
    }
    double found = 0.0;
    for (size_t i = 0; i < (size_t)dim * dim; i++)
        found += c[i];
    return found == expected;
}

/* FNV-1a hash, word by word. */
uint64_t digest(const double *c, int dim)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < (size_t)dim * dim; i++) {
        uint64_t word;
        memcpy(&word, &c[i], sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}
