/* Tests of dealing: every point once, the requested sizes, and no harm from bad values. */
#include "check.h"
#include "factoring.h"

struct dealt {
    int n_chunks, n_batches, n_points, largest, smallest;
    int first_batch_points;
};

static struct dealt deal_all(int n_points, int n_workers, int min_chunk)
{
    struct factoring f;
    struct chunk chunk;
    struct dealt d = {.smallest = n_points};
    factoring_start(&f, n_points, n_workers, min_chunk);
    while (factoring_next(&f, &chunk)) {
        check_true("chunks follow each other", chunk.first == d.n_points);
        check_true("chunks are not empty", chunk.n_points > 0);
        d.n_points += chunk.n_points;
        d.first_batch_points += chunk.batch == 0 ? chunk.n_points : 0;
        d.largest = chunk.n_points > d.largest ? chunk.n_points : d.largest;
        d.smallest = chunk.n_points < d.smallest ? chunk.n_points : d.smallest;
        d.n_batches = chunk.batch + 1;
        d.n_chunks++;
    }
    check_true("every point is dealt", d.n_points == n_points);
    check_true("`batchId` names the newest batch", batchId == d.n_batches - 1);
    return d;
}

static void set_shares(double f0, double f1, double f2)
{
    F0 = f0;
    F1 = f1;
    F2 = f2;
}

static void check_untuned(int n_points, int n_workers)
{
    set_shares(1.0, 1.0, 1.0);
    struct dealt d = deal_all(n_points, n_workers, 32);
    int n_chunks = n_points < n_workers ? n_points : n_workers;
    check_true("untuned: one batch", d.n_batches == 1);
    check_true("untuned: a chunk for each worker", d.n_chunks == n_chunks && numChunk == n_chunks);
    check_true("untuned: equal chunks", d.largest - d.smallest <= 1);
}

static void check_halves(void)
{
    set_shares(0.5, 0.5, 0.5);
    struct dealt d = deal_all(100000, 4, 100);
    check_true("half of the points are in batch 0", d.first_batch_points == 50000);
    check_true("batches shrink to the minimum", d.n_batches == 8 && d.largest == 12500);
    check_true("rest in chunks of the minimum", d.smallest > 0 && d.smallest <= 100);
}

static void check_shares_by_batch(void)
{
    set_shares(0.8, 0.5, 1.0);
    struct dealt d = deal_all(10000, 2, 10);
    check_true("0.8, then half of the rest, then all", d.n_batches == 3 && d.n_chunks == 6);
    check_true("batch 0", d.first_batch_points == 8000);
}

/* A tool may write anything. */
static void check_bad(double share)
{
    set_shares(share, share, share);
    deal_all(5000, 3, 32);
    deal_all(1, 3, 32);
}

int main(void)
{
    for (int n_workers = 1; n_workers < 9; n_workers++)
        for (int n_points = 1; n_points < 2000; n_points += 97)
            check_untuned(n_points, n_workers);
    check_halves();
    check_shares_by_batch();
    const double bad[] = {0.0, -1.0, 1e-30, 2.0, 1e300, NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 8; i++)
        check_bad(bad[i]);
    return check_report("factoring");
}
