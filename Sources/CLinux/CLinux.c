#define _GNU_SOURCE
#include "CLinux.h"

int clinux_open_pseudo_terminal(char *path, int path_size) {
  int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return -errno;
  if (grantpt(fd) < 0 || unlockpt(fd) < 0 || ptsname_r(fd, path, path_size) != 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

int clinux_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }
