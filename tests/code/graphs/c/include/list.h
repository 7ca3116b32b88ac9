#ifndef L
#define L
struct list { int n; };
int list_len(struct list *l);
void list_free(struct list *l);
#endif
