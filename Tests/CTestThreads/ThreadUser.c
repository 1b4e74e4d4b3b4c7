// Changes the user of one thread. The C library's setresuid changes all threads of the process.

#define _GNU_SOURCE
#include "CTestThreads.h"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int ctest_become_user(uid_t user) { return syscall(SYS_setresuid, user, user, user) == 0 ? 0 : errno; }
