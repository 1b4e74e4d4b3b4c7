// As many threads for tests as run at once.
//
// A test waits with its thread: for another thread, a pseudo-terminal, a program. Swift's pool has one thread for each processor, so
// that on two processors two tests that wait keep all others waiting, and with them the tasks that serve what they wait for;
// four fifths of the time nothing was computed at all. The pool asks libdispatch, and that asks the C library, how many processors
// there are. Of all that is linked into a test bundle this is asked first.

#define _GNU_SOURCE
#include "CTestThreads.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

// So many threads as SENSORHUB_TEST_THREADS says, or none where it says nothing.
static int wanted(void) {
  const char *text = getenv("SENSORHUB_TEST_THREADS");
  return text == NULL ? 0 : atoi(text);
}

// How many tasks may be under way.
long sysconf(int name) {
  static long (*next)(int);
  if (next == NULL) next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  long value = next(name);
  return name == _SC_NPROCESSORS_CONF && value < wanted() ? wanted() : value;
}

// How many threads there are for them.
int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
  int (*next)(pthread_t, size_t, cpu_set_t *) =
    (int (*)(pthread_t, size_t, cpu_set_t *))dlsym(RTLD_NEXT, "pthread_getaffinity_np");
  int error = next(thread, size, set);
  if (error != 0) return error;
  int count = CPU_COUNT_S(size, set);
  for (int cpu = 0; count < wanted() && cpu < (int)(8 * size); cpu++) {
    if (CPU_ISSET_S(cpu, size, set)) continue;
    CPU_SET_S(cpu, size, set);
    count++;
  }
  return 0;
}
