#include "list.h"
static int count(struct list *l) { return l->n; }
int list_len(struct list *l) { return count(l); }
void list_free(struct list *l) { }
