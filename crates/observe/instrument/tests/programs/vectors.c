/* Vectors of 256 bits as arguments and results, in registers that probes do not use. */
#include <immintrin.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, target("avx")))

int chunk = 4;

NOINLINE __m256d scaled(__m256d a, __m256d b) { return _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_set1_pd(chunk)); }
NOINLINE __m256 shifted(__m256 a, double b) { return _mm256_add_ps(a, _mm256_set1_ps((float)b)); }

NOINLINE static void all(void) {
    double sums[4];
    float ends[8];
    __m256d sum = _mm256_set_pd(1, 2, 3, 4);
    __m256 end = _mm256_set_ps(1, 2, 3, 4, 5, 6, 7, 8);
    for (int i = 0; i < 5; i++) {
        sum = scaled(sum, _mm256_set_pd(0.5, i, 1.5, -i));
        end = shifted(end, i);
    }
    _mm256_storeu_pd(sums, sum);
    _mm256_storeu_ps(ends, end);
    printf("%g %g %g %g %g %g\n", sums[0], sums[1], sums[2], sums[3], ends[0], ends[7]);
}

int main(void) {
    puts("vectors");
    if (__builtin_cpu_supports("avx"))
        all();
    return 0;
}
