// What the Glibc overlay leaves out of Linux' own interfaces.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Makes an eventfd readable.
static inline void clinux_eventfd_raise(int fd) { (void)eventfd_write(fd, 1); }

/// Makes an eventfd unreadable again.
static inline void clinux_eventfd_clear(int fd) {
  eventfd_t value;
  (void)eventfd_read(fd, &value);
}

/// A timer that never fires, and becomes readable when CLOCK_REALTIME is set, or jumps because the machine was suspended
/// (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). -1 on error.
int clinux_clock_change(void);

/// Makes it unreadable again.
void clinux_clear_clock_change(int fd);

static inline int clinux_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

static inline int64_t clinux_realtime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// By how much CLOCK_REALTIME may be off, by the word of who keeps it right; -1 where nobody does, or the kernel does not tell.
static inline int64_t clinux_realtime_error_ns(void) {
  struct timex kept = {0};
  int state = adjtimex(&kept);
  return state < 0 || state == TIME_ERROR || (kept.status & STA_UNSYNC) ? -1 : (int64_t)kept.maxerror * 1000;
}

/// Fires first at `first_ns` of CLOCK_MONOTONIC, then every `interval_ns`; `first_ns` 0 disarms.
static inline int clinux_timerfd_arm(int fd, int64_t first_ns, int64_t interval_ns) {
  struct itimerspec spec = {
      .it_interval = {.tv_sec = interval_ns / 1000000000, .tv_nsec = interval_ns % 1000000000},
      .it_value = {.tv_sec = first_ns / 1000000000, .tv_nsec = first_ns % 1000000000},
  };
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static inline int64_t clinux_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// As CLOCK_MONOTONIC, and goes on while the machine is suspended.
static inline int64_t clinux_boottime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Takes the terminal for this process alone: later opens fail with EBUSY, except by root.
static inline int clinux_tty_exclusive(int fd) { return ioctl(fd, TIOCEXCL); }

/// Whether the terminal is taken so.
static inline bool clinux_tty_is_exclusive(int fd) {
  int exclusive = 0;
  return ioctl(fd, TIOCGEXCL, &exclusive) == 0 && exclusive;
}

/// Whether the terminal is a pseudo-terminal, whatever its name: majors 136 to 143 (Linux, admin-guide/devices.txt).
static inline bool clinux_tty_is_pseudo(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && major(status.st_rdev) >= 136 && major(status.st_rdev) <= 143;
}

/// Gives the terminal free again.
static inline int clinux_tty_shared(int fd) { return ioctl(fd, TIOCNXCL); }

static inline void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

/// Signals one thread of a process.
static inline int clinux_signal_thread(pid_t process, pid_t thread, int number) {
  return (int)syscall(SYS_tgkill, process, thread, number);
}

/// Sends without waiting and without a signal when the other end is gone.
static inline ssize_t clinux_send_now(int fd, const void *bytes, size_t count) {
  return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// Receives what is there, without waiting.
static inline ssize_t clinux_receive_now(int fd, void *bytes, size_t count) {
  return recv(fd, bytes, count, MSG_DONTWAIT);
}

/// A socket that becomes readable when an address of this machine's comes or goes (rtnetlink(7)); -1 on error.
int clinux_watch_addresses(void);

/// Takes all that waits there.
void clinux_clear_address_changes(int fd);

/// Accepts a connection whose descriptor is not inherited.
int clinux_accept(int listener);

/// Has place on the disk found for a part of a file, without its size changing. Returns 0 or a negative errno.
int clinux_reserve(int fd, int64_t offset, int64_t count);

/// What is added to a signal's number: where the kernel itself has sent it, as it does when a terminal hangs up, and where the
/// leader of the session has, that is the shell.
enum { CLINUX_FROM_KERNEL = 0x80, CLINUX_FROM_SESSION_LEADER = 0x40 };

/// From now on SIGHUP, SIGINT and SIGTERM end nothing: each writes its number as a byte to a pipe, whose reading end this
/// returns, or a negative errno. To be called once.
int clinux_hear_signals(void);

/// Whether a signal has been told to do nothing, as nohup does.
bool clinux_is_ignored(int signal);

/// Locks one byte of a file for the open file description, where nobody else has it; the bytes are whatever numbers the callers
/// agree on. The lock goes with the description. Returns 0 or a negative errno.
int clinux_lock_byte(int fd, int64_t offset);

/// When the last pulse rose, in nanoseconds of CLOCK_REALTIME since 1970; 0 before the first, or a negative errno.
int64_t clinux_pps_last(int fd);

/// Tells chronyd, through the datagram socket that it made, by how much the system clock was behind at an instant of its
/// own. Returns 0 or a negative errno.
int clinux_chrony_send(const char *path, int64_t system_ns, double offset_s);

/// Gives what the allocator keeps for later back to the system.
void clinux_return_memory(void);

/// Waits for ever for something to read.
static inline void clinux_wait_readable(int fd) {
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  poll(&wait, 1, -1);
}

/// Waits for ever for something to read from one of two descriptors. Returns whether the second one has it.
bool clinux_wait_readable_either(int fd, int other);

/// Binds a TCP socket to an address of 4 or 16 bytes. Returns 0, or -1 with errno set.
int clinux_bind_tcp(int fd, const uint8_t *address, size_t size, uint16_t port);

/// Writes who is at the other end of a TCP socket; `address` has room for 16 bytes. Returns how many it has, or -1.
int clinux_tcp_peer(int fd, uint8_t *address, uint16_t *port);

/// A socket that sends datagrams to addresses of 4 or 16 bytes, to all of a network too, and to groups by an interface unless
/// that is 0. Returns it, or -1 with errno set.
int clinux_udp_socket(size_t address_size, unsigned interface);

/// Sends a datagram without waiting. Returns 0 or -1 with errno set.
int clinux_udp_send(int fd, const uint8_t *address, size_t size, uint16_t port, unsigned interface, const void *bytes,
                    size_t count);

struct clinux_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
};

/// Who is at the other end of a Unix socket.
static inline int clinux_socket_peer(int fd, struct clinux_peer *peer) {
  struct {
    pid_t pid;
    uid_t uid;
    gid_t gid;
  } credentials;
  socklen_t length = sizeof credentials;
  int result = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
  peer->pid = credentials.pid;
  peer->uid = credentials.uid;
  peer->gid = credentials.gid;
  return result;
}

/// The supplementary groups of who is at the other end of a Unix socket, as of its connecting. Returns how many, or -1: none are
/// known where there are more than `count`.
int clinux_socket_peer_groups(int fd, uint32_t *groups, int count);

/// Opens a file, a folder or a link itself to look at it alone (open(2), O_PATH). Returns a descriptor, or -1 with errno set.
///
/// `follows`: a link is followed, whoever has made it.
int clinux_open_place(int folder, const char *path, bool follows);

/// Makes a descriptor's number stand for another open file, which no program inherits. Returns the number, or -1 with errno set.
int clinux_replace(int number, int fd);

/// Opens a pipe that no program started meanwhile inherits. Returns 0, or -1 with errno set.
int clinux_pipe(int ends[2]);

/// Has a program that is started inherit no descriptor from `first` on. Returns 0 or an error number.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// The kernel kills this process when the thread that started it ends, for whatever reason (PR_SET_PDEATHSIG).
static inline void clinux_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Limits the memory of this process, and prevents core files. RLIMIT_DATA counts the private writable part of the address space,
/// and not the code of the executable and its libraries. Returns 0, or -1 with errno set.
int clinux_limit_memory(uint64_t bytes);

/// Limits the memory of another process of this user's, as `clinux_limit_memory` does, and of all that it starts from then on, and
/// prevents core files. Returns 0, or -1 with errno set.
int clinux_limit_process(pid_t process, uint64_t bytes);

/// Opens a descriptor that becomes readable when a child has ended (pidfd_open(2)). Returns -1 with errno set if there is none.
int clinux_open_process(pid_t process);

/// Opens a pseudo-terminal; writes the path of its other end. Returns the controlling end, or a negative errno.
int clinux_open_pseudo_terminal(char *path, int path_size);
