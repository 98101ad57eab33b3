/*
 * Square matrices of small integers: sums of them are exact in a double, so that a product is the
 * same to the last bit however its rows are divided, and its sum is known in advance.
 */
#ifndef MATMUL_MATRIX_H
#define MATMUL_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

/* Allocates `n_rows` rows of `dim` numbers; NULL when memory is short. */
double *matrix_new(int n_rows, int dim);

/* Fills in the first factor. */
void init_a(double *a, int dim);

/* Fills in the second factor. */
void init_b(double *b, int dim);

/* Computes `n_rows` rows of the product: c = a * b. */
void multiply(const double *a, const double *b, double *c, int n_rows, int dim);

/* Returns whether the sum of `c` is that of the product of both factors. */
bool is_product(const double *c, int dim);

/* Hash that differs when any bit of `c` does. */
uint64_t digest(const double *c, int dim);

#endif
