/* A ring buffer of bytes. */
#include <stdlib.h>
#include "ring.h"

#define RING_MAX 4096
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#ifdef RING_TRACE
#define TRACE(...) trace(__VA_ARGS__)
#else
#define TRACE(...)
#endif

/* One stretch of bytes. */
struct span {
    const unsigned char *at;
    size_t length, *marks[4];
    unsigned last : 1;
    struct {
        int column;
    } place;
};

typedef enum { RING_EMPTY, RING_FULL = 2 } ring_state;

/* What is told when a ring fills up. */
typedef void (*ring_hook)(struct ring *ring, void *context);
typedef struct ring ring_t, *ring_p;

union word {
    unsigned long whole;
    unsigned char bytes[8];
};

static const int growth = 2;
static int counter, *latest = &counter;
extern const char *const ring_version;
static unsigned char table[RING_MAX][2];

static void ring_grow(ring_t *ring, size_t least);

/*
 * Makes a ring. NULL where there is no memory.
 */
ring_t *
ring_new(size_t size, ring_hook hook,
         void *context)
{
    ring_t *ring = malloc(sizeof(ring_t));
    if (ring == NULL || size > RING_MAX)
        return NULL;
    ring->hook = hook;
    ring->free = ring_release;
    hook(ring, context);
    atexit(ring_report);
    return ring;
}

static inline int ring_full(const ring_t *ring)
{
    return ring->used == MIN(ring->size, RING_MAX);
}

// Doubles what a ring holds.
static void ring_grow(ring_t *ring, size_t least)
{
    while (ring->size < least)
        ring->size *= growth;
    ring->bytes = realloc(ring->bytes, ring->size);
    TRACE("grown", ring);
    (*ring->hook)(ring, NULL);
}

int (*ring_compare(int order))(const void *, const void *)
{
    return order ? up : down;
}

static const struct ring_ops ops = {
    .open = ring_new,
    .full = &ring_full,
    .words = { sizeof(union word), growth },
};

char **ring_names(int argc, char *argv[]) { return argv; }

#if defined(RING_MAIN)
int main(void)
{
    ring_t *ring = ring_new(8, NULL, NULL);
    ring_grow(ring, 16);
    return ring_full(ring);
}
#endif
