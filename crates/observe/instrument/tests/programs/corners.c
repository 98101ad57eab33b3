/* Functions that no compiler would generate: see corners_code.s. */
#include <stdio.h>

extern int only_return(void), loop_first(int), loop_inside(int), loop_no_room(int), call_first(void);
extern int call_register(int (*)(void)), call_stack(int (*)(void)), read_near(void), branch_early(int);
extern int jump_zero(long), jump_away(void), keep_registers(void), call_twice(int (*)(void)), short_end(int);
extern int with_landing(void);

int seven(void) { return 7; }

int main(void) {
    for (int i = 1; i <= 3; i++) {
        only_return();
        printf("%d %d %d %d ", loop_first(i), loop_inside(i), loop_no_room(i), call_first());
        printf("%d %d %d %d ", call_register(seven), call_stack(seven), read_near(), branch_early(i - 2));
        printf("%d %d %d %d %d\n", jump_zero(i - 1), jump_away(), call_twice(seven), short_end(i), with_landing());
        printf("%#x\n", keep_registers());
    }
    return 0;
}
