// Counts the allocations of this process by replacing malloc and related functions.
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

uint64_t callocations_count(void);

static inline double callocations_thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

/// The CPU seconds of all children that have ended.
static inline double callocations_children_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6 + usage.ru_stime.tv_sec + usage.ru_stime.tv_usec * 1e-6;
}
