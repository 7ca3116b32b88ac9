/* Copyright 2024 The authors. */
#ifndef RING_H
#define RING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RING_VERSION "1.0"

typedef struct ring ring_t;

/* A ring of bytes. */
struct ring {
    unsigned char *bytes;
    size_t size;
    void (*hook)(ring_t *, void *);
};

RING_API ring_t *ring_new(size_t size, void *context);
EXPORT(int) ring_full(const ring_t *ring);

/* Gives the memory back. */
extern void ring_release(ring_t *ring);

#ifdef __cplusplus
}
#endif

#endif
