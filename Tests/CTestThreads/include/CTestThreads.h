#ifndef CTESTTHREADS_H
#define CTESTTHREADS_H

#include <sys/types.h>

// Linking CTestThreads.c sets the number of threads for tests. It needs no call.

/// Stops one thread of a descendant process until a descriptor becomes readable, as if the thread were in a call to the
/// kernel that does not return. Returns 0 once the thread has stopped, or an errno.
int ctest_hold_thread(pid_t thread, int release);

/// Changes the user of the calling thread alone, permanently. Only root may do this. Returns 0 or an errno.
int ctest_become_user(uid_t user);

#endif
