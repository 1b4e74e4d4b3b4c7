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

int clinux_bind_tcp(int fd, const uint8_t *address, size_t size, uint16_t port) {
  if (size == 4) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&name.sin_addr, address, 4);
    return bind(fd, (struct sockaddr *)&name, sizeof name);
  }
  struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  memcpy(&name.sin6_addr, address, 16);
  return bind(fd, (struct sockaddr *)&name, sizeof name);
}

int clinux_tcp_peer(int fd, uint8_t *address, uint16_t *port) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } name;
  socklen_t size = sizeof name;
  if (getpeername(fd, &name.any, &size) < 0) return -1;
  *port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
  if (name.any.sa_family == AF_INET) {
    memcpy(address, &name.v4.sin_addr, 4);
    return 4;
  }
  memcpy(address, &name.v6.sin6_addr, 16);
  return 16;
}

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
