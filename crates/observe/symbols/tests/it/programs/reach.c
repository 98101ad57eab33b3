/* Structures behind pointers, as arguments and as variables. */
struct box {
    double low[3], cutoff;
    unsigned flag : 2;
};
struct list {
    int n;
    struct list *next;
};
typedef struct sim {
    int id;
    struct box box;
    struct list *parts;
    double *values;
} sim_t;

static sim_t first;
sim_t *domain = &first;

__attribute__((noinline)) double step(double dt, const sim_t *sim, int n, struct box by_value) {
    return dt * sim->box.cutoff + n + by_value.cutoff + sim->parts->next->n + sim->values[2];
}

int main(int argc, char **argv) {
    (void)argv;
    return (int)step(argc, domain, argc, first.box);
}
