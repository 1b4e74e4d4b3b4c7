// Sets the number of threads for tests.
//
// Tests block their threads while they wait for another thread, a pseudo-terminal or a program. Swift's pool has one
// thread per processor. With two processors, two waiting tests block all others, and with them the tasks that they
// wait for; the processors were idle for four fifths of the time. The pool asks libdispatch for the number of
// processors, and libdispatch asks the C library. The functions below take precedence over the C library's in a test
// bundle.
//
// A sanitizer asks before it is initialized, so this code must be neither instrumented nor call intercepted
// functions.

#define _GNU_SOURCE
#include "CTestThreads.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define BARE __attribute__((disable_sanitizer_instrumentation))

// glibc's internal name of sysconf.
long __sysconf(int name);

// The number of threads from SENSORHUB_TEST_THREADS, or 0 if it is not set.
BARE static int wanted(void) {
  const char *text = getenv("SENSORHUB_TEST_THREADS");
  int number = 0;
  for (; text != NULL && *text >= '0' && *text <= '9' && number < 100; text++) number = 10 * number + *text - '0';
  return number;
}

// The number of tasks that may run at the same time.
BARE long sysconf(int name) {
  long value = __sysconf(name);
  return name == _SC_NPROCESSORS_CONF && value < wanted() ? wanted() : value;
}

// The number of threads for these tasks.
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
