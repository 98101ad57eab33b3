/*
 * Square matrices of small whole numbers: sums of them are exact in a double, so that a product is the
 * same to the last bit however its rows are divided, and its sum is known beforehand.
 */
#ifndef MATMUL_MATRIX_H
#define MATMUL_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

/* Room for `n_rows` rows of `dim` numbers; none when there is not so much memory. */
double *matrix_new(int n_rows, int dim);

/* The first factor. */
void init_a(double *a, int dim);

/* The second factor. */
void init_b(double *b, int dim);

/* `n_rows` rows of the product: c = a * b. */
void multiply(const double *a, const double *b, double *c, int n_rows, int dim);

/* Whether the numbers of `c` add up to what those of the product of both factors do. */
bool is_product(const double *c, int dim);

/* A number that differs when any bit of `c` does. */
uint64_t digest(const double *c, int dim);

#endif
