#ifndef DECLARATIONS_H
#define DECLARATIONS_H

G_BEGIN_DECLS

int first_of(const char *text) __THROW __nonnull ((1));
typedef struct _Basket Basket;
struct _Basket { int size; };
Basket *basket_new(void) __attribute_malloc__ __wur;

G_END_DECLS

#endif
