#define N 3
typedef struct { int n; double *w; /* [n][N] */ } task;
struct { int i : 3; };
enum e { A, B = 1 << 2 };
