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

static int signal_pipe[2] = {-1, -1};

static void write_signal(int signal) {
  int error = errno;
  uint8_t byte = (uint8_t)signal;
  (void)!write(signal_pipe[1], &byte, 1);
  errno = error;
}

int clinux_hear_signals(void) {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
  struct sigaction action = {.sa_handler = write_signal, .sa_flags = SA_RESTART};
  int heard[] = {SIGHUP, SIGINT, SIGTERM};
  for (unsigned i = 0; i < sizeof heard / sizeof *heard; i++) sigaction(heard[i], &action, NULL);
  return signal_pipe[0];
}
