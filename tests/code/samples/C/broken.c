#include <stdio.h>

int before(int a)
{
    return a + 1;
}

int torn(int a, )
{
    if (a > ) {
        call(;
    }
    int x = ;
}

struct after {
    int field;
};

int after(struct after *value)
{
    return before(value->field);
}
