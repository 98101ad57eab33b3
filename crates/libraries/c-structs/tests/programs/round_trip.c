/* Packs and unpacks structs with parts elsewhere, whole and cut off at every place. */
#include "shapes_messages.h"

#include <stdio.h>

static void fill(void *at, size_t n_bytes, unsigned seed)
{
    unsigned char *bytes = (unsigned char *)at;
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)((seed + i) * 37 % 251 & 0x3f);
}

static box make_box(unsigned seed)
{
    box made;
    memset(&made, 0, sizeof made);
    strcpy(made.name, "a box");
    made.color = BLUE;
    made.fineness = FINE;
    fill(made.corners, sizeof made.corners, seed);
    made.numbers.b = UINT64_MAX - seed;
    made.numbers.h = -7;
    made.numbers.m = 0.1;
    made.numbers.o = true;
    made.numbers.f[1] = 12;
    made.numbers.u = 77;
    made.flag = (uint8_t)seed;
    return made;
}

static mesh make_mesh(int n_rows, uint16_t n_columns, size_t n_points)
{
    mesh made;
    size_t n_values = (size_t)n_rows * n_columns;
    memset(&made, 0, sizeof made);
    made.n_rows = n_rows;
    made.n_columns = n_columns;
    made.n_points = n_points;
    made.bounds = make_box(n_columns);
    if (n_values != 0)
        fill(made.values = (double *)malloc(n_values * sizeof(double)), n_values * sizeof(double), 1);
    if (n_points != 0) {
        fill(made.points = (vec *)malloc(n_points * sizeof(vec)), n_points * sizeof(vec), 2);
        fill(made.pairs = (int32_t *)malloc(n_points * 8), n_points * 8, 3);
    }
    return made;
}

static int is_same_mesh(const mesh *a, const mesh *b)
{
    size_t n_values = (size_t)a->n_rows * a->n_columns;
    return a->n_rows == b->n_rows && a->n_columns == b->n_columns && a->n_points == b->n_points
        && (n_values == 0 || memcmp(a->values, b->values, n_values * sizeof(double)) == 0)
        && (a->n_points == 0
            || (memcmp(a->points, b->points, a->n_points * sizeof(vec)) == 0
                && memcmp(a->pairs, b->pairs, a->n_points * 8) == 0))
        && strcmp(a->bounds.name, b->bounds.name) == 0 && a->bounds.color == b->bounds.color
        && a->bounds.fineness == b->bounds.fineness
        && memcmp(a->bounds.corners, b->bounds.corners, sizeof a->bounds.corners) == 0
        && a->bounds.numbers.b == b->bounds.numbers.b && a->bounds.numbers.h == b->bounds.numbers.h
        && a->bounds.numbers.m == b->bounds.numbers.m && a->bounds.numbers.o == b->bounds.numbers.o
        && a->bounds.numbers.f[1] == b->bounds.numbers.f[1] && a->bounds.numbers.u == b->bounds.numbers.u
        && a->bounds.flag == b->bounds.flag;
}

static struct node make_node(int depth)
{
    struct node made;
    memset(&made, 0, sizeof made);
    made.weight = depth;
    made.n_children = (uint32_t)depth;
    if (depth != 0)
        made.children = (struct node *)malloc((size_t)depth * sizeof *made.children);
    for (int i = 0; i < depth; i++)
        made.children[i] = make_node(depth - 1);
    return made;
}

static int is_same_node(const struct node *a, const struct node *b)
{
    int is_same = a->weight == b->weight && a->n_children == b->n_children;
    for (uint32_t i = 0; is_same && i < a->n_children; i++)
        is_same = is_same_node(a->children + i, b->children + i);
    return is_same;
}

/* Every cut is refused, and leaves nothing behind; the address sanitizer looks after both. */
static int is_cut_refused(const unsigned char *whole, size_t n_bytes)
{
    struct forest to;
    for (size_t n = 0; n < n_bytes; n++) {
        unsigned char *cut = (unsigned char *)malloc(n + 1);
        size_t taken;
        memcpy(cut, whole, n);
        taken = mw_unpack_forest(&to, cut, n);
        free(cut);
        if (taken != 0)
            return 0;
    }
    return 1;
}

int main(void)
{
    struct forest from, to;
    size_t n_bytes, taken;
    unsigned char *message;
    int is_same = 1;
    memset(&from, 0, sizeof from);
    from.trees[0] = make_node(3);
    from.trees[1] = make_node(0);
    from.n_meshes = 3;
    from.meshes = (mesh *)malloc(3 * sizeof *from.meshes);
    from.meshes[0] = make_mesh(3, 4, 5);
    from.meshes[1] = make_mesh(0, 4, 1);
    from.meshes[2] = make_mesh(2, 1, 0);

    n_bytes = mw_pack_size_forest(&from);
    message = (unsigned char *)malloc(n_bytes + 1);
    message[n_bytes] = 99;
    is_same = is_same && mw_pack_forest(&from, message) == n_bytes && message[n_bytes] == 99;
    taken = mw_unpack_forest(&to, message, n_bytes + 1);
    is_same = is_same && taken == n_bytes && to.n_meshes == 3;
    for (int i = 0; i < 3 && is_same; i++)
        is_same = is_same_mesh(from.meshes + i, to.meshes + i);
    is_same = is_same && is_same_node(from.trees, to.trees) && is_same_node(from.trees + 1, to.trees + 1);
    is_same = is_same && is_cut_refused(message, n_bytes);
    mw_free_forest(&to);
    is_same = is_same && to.meshes == NULL;

    /* A count that no message can have. */
    from.meshes[2].n_rows = 1;
    memset(message, 0xff, n_bytes);
    is_same = is_same && mw_unpack_mesh(to.meshes = (mesh *)malloc(sizeof(mesh)), message, n_bytes) == 0;
    free(to.meshes);
    free(message);
    mw_free_forest(&from);
    puts(is_same ? "same" : "different");
    return 0;
}
