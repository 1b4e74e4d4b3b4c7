// As many threads for tests as run at once.
//
// A test waits with its thread: for another thread, a pseudo-terminal, a program. Swift's pool has one thread for each processor, so
// that on two processors two tests that wait keep all others waiting, and with them the tasks that serve what they wait for;
// four fifths of the time nothing was computed at all. The pool asks libdispatch, and that asks the C library, how many processors
// there are. Of all that is linked into a test bundle this is asked first.
//
// A sanitizer asks too, before it is ready itself: nothing here is instrumented, nor calls what is intercepted.

#define _GNU_SOURCE
#include "CTestThreads.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define BARE __attribute__((disable_sanitizer_instrumentation))

// glibc's own name of sysconf.
long __sysconf(int name);

// So many threads as SENSORHUB_TEST_THREADS says, or none where it says nothing.
BARE static int wanted(void) {
  const char *text = getenv("SENSORHUB_TEST_THREADS");
  int number = 0;
  for (; text != NULL && *text >= '0' && *text <= '9' && number < 100; text++) number = 10 * number + *text - '0';
  return number;
}

// How many tasks may be under way.
BARE long sysconf(int name) {
  long value = __sysconf(name);
  return name == _SC_NPROCESSORS_CONF && value < wanted() ? wanted() : value;
}

// How many threads there are for them.
BARE int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
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
