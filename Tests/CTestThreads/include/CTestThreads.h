#ifndef CTESTTHREADS_H
#define CTESTTHREADS_H

#include <sys/types.h>

// To set the number of threads for tests there is nothing to call: linking CTestThreads.c is sufficient.

/// Stops one thread of a descendant process, as a call to the kernel that does not return would, until a descriptor becomes readable.
/// Returns 0 once the thread stands, or an errno.
int ctest_hold_thread(pid_t thread, int release);

/// Gives the calling thread, and no other, another user for good. Only root may. Returns 0 or an errno.
int ctest_become_user(uid_t user);

#endif
