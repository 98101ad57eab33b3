/* Structs of every kind that is understood. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define N_AXES 3
#define NAME_BYTES (2 * 8 + 1)
enum { N_CORNERS = 4 };

typedef double real;
enum color { RED, GREEN = 5, BLUE };
typedef enum { COARSE, FINE } grain;

/* All the numbers. */
struct numbers {
    int8_t a;
    uint64_t b;
    short c;
    unsigned short d;
    int e, f[2];
    unsigned g;
    long h;
    unsigned long i;
    long long j;
    unsigned long long k;
    float l;
    double m;
    real n;
    bool o;
    char p;
    signed char q;
    unsigned char r;
    size_t s;
    int16_t t;
    uint32_t u;
};

typedef struct vec {
    real at[N_AXES];
} vec;

typedef struct {
    char name[NAME_BYTES];
    enum color color;
    grain fineness;
    vec corners[2][N_CORNERS];
    struct numbers numbers;
    uint8_t flag;
} box;

/* With parts elsewhere; the count may come later. */
typedef struct mesh mesh;
struct mesh {
    double *values; /* [n_rows][n_columns], in meters */
    int n_rows;
    uint16_t n_columns;
    vec *points; // [n_points]
    size_t n_points;
    int32_t *pairs /* [n_points][2] */;
    box bounds;
};

/* A tree, and a struct that has one. */
struct node {
    int64_t weight;
    uint32_t n_children;
    struct node *children; /* [n_children] */
};

struct forest {
    struct node trees[2];
    mesh *meshes; /* [n_meshes] */
    unsigned char n_trees;
    int n_meshes;
};

/* Not for messages: functions, and a union that no struct has. */
union word { int i; float f; };
double volume(const box *of);

#endif
