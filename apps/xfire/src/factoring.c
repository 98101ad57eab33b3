/* Batches and chunks; see factoring.h. */
#include "factoring.h"

static const double SHARE_MIN = 0.001;

void factoring_start(struct factoring *f, int n_points, int n_workers, int min_chunk)
{
    *f = (struct factoring){.n_workers = n_workers, .min_chunk = min_chunk, .n_left = n_points};
}

/* A tool may have set any value: shares that are not below 1 count as 1, also NaN. */
static double share_of_batch(int batch)
{
    double share = batch == 0 ? F0 : batch == 1 ? F1 : F2;
    if (!(share < 1.0))
        return 1.0;
    return share < SHARE_MIN ? SHARE_MIN : share;
}

/* If chunks would be smaller than the minimum, the rest is dealt in chunks of that size. */
static struct batch make_batch(const struct factoring *f)
{
    struct batch b = {.id = f->n_batches, .first = f->first_left, .n_chunks = f->n_workers};
    b.n_points = (int)(share_of_batch(b.id) * f->n_left);
    if (b.n_points < f->n_left && b.n_points / f->n_workers < f->min_chunk) {
        b.n_points = f->n_left;
        b.n_chunks = (b.n_points + f->min_chunk - 1) / f->min_chunk;
    }
    if (b.n_chunks > b.n_points)
        b.n_chunks = b.n_points;
    return b;
}

XFIRE_PROBED void Factoring_SetNumTuples(struct factoring *f)
{
    f->next = make_batch(f);
    f->first_left += f->next.n_points;
    f->n_left -= f->next.n_points;
    f->n_batches++;
    batchId = f->next.id;
    numChunk = f->next.n_chunks;
}

static int chunks_left(const struct batch *b)
{
    return b->n_chunks - b->n_dealt;
}

/* Chunk k of a batch; sizes differ by one point at most. */
static struct chunk make_chunk(const struct batch *b, int k)
{
    int size = b->n_points / b->n_chunks, n_larger = b->n_points % b->n_chunks;
    return (struct chunk){
        .batch = b->id,
        .first = b->first + k * size + (k < n_larger ? k : n_larger),
        .n_points = size + (k < n_larger ? 1 : 0),
    };
}

bool factoring_next(struct factoring *f, struct chunk *chunk)
{
    /* The next batch is computed before the current one ends, so that no worker waits for it. */
    bool is_low = chunks_left(&f->current) == 0 || 2 * chunks_left(&f->current) < f->n_workers;
    if (is_low && f->next.n_chunks == 0 && f->n_left > 0)
        Factoring_SetNumTuples(f);
    if (chunks_left(&f->current) == 0) {
        f->current = f->next;
        f->next = (struct batch){0};
    }
    if (chunks_left(&f->current) == 0)
        return false;
    *chunk = make_chunk(&f->current, f->current.n_dealt++);
    return true;
}
