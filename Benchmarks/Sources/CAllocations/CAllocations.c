#define _GNU_SOURCE
#include "CAllocations.h"

#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_uint_fast64_t count;

uint64_t callocations_count(void) { return atomic_load_explicit(&count, memory_order_relaxed); }

static void counted(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

void *malloc(size_t size) { return counted(), __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return counted(), __libc_calloc(number, size); }
void *realloc(void *pointer, size_t size) { return counted(), __libc_realloc(pointer, size); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(), __libc_memalign(alignment, size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
  counted();
  *pointer = __libc_memalign(alignment, size);
  return *pointer ? 0 : 12;
}
