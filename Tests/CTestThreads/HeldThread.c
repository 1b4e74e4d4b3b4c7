// Stops one thread of another process with ptrace(2). The tracer must itself be a thread that waits until the release.

#include "CTestThreads.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

struct hold {
  pid_t thread;
  int release;
  int error;
  sem_t stands;
};

static void *hold(void *context) {
  struct hold *hold = context;
  pid_t thread = hold->thread;
  int release = hold->release, status = 0;
  int failed = ptrace(PTRACE_SEIZE, thread, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0 ||
    waitpid(thread, &status, __WALL) != thread;
  hold->error = failed ? errno : 0;
  sem_post(&hold->stands);  // From here on `hold` is the caller's.
  if (failed) return NULL;
  struct pollfd wait = {.fd = release, .events = POLLIN};
  // If the held thread is killed with its process, its tracer must collect its status with waitpid(2). Otherwise the
  // process never ends.
  while (poll(&wait, 1, 20) <= 0) {
    if (waitpid(thread, &status, __WALL | WNOHANG) == thread && !WIFSTOPPED(status)) return NULL;
  }
  ptrace(PTRACE_DETACH, thread, 0, 0);
  return NULL;
}

int ctest_hold_thread(pid_t thread, int release) {
  struct hold context = {.thread = thread, .release = release};
  sem_init(&context.stands, 0, 0);
  pthread_t tracer;
  int error = pthread_create(&tracer, NULL, hold, &context);
  if (error == 0) {
    pthread_detach(tracer);
    while (sem_wait(&context.stands) != 0) {
    }
    error = context.error;
  }
  sem_destroy(&context.stands);
  return error;
}
