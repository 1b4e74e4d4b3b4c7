// Interfaces of Linux that the Glibc overlay of Swift does not offer.
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

/// Makes a timer that never fires, but becomes readable when CLOCK_REALTIME is set, or jumps because the machine was
/// suspended (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET). Returns its descriptor, or -1 with errno set.
int clinux_clock_change(void);

/// Makes the timer of `clinux_clock_change` unreadable again.
void clinux_clear_clock_change(int fd);

static inline int clinux_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

static inline int64_t clinux_realtime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Returns the largest error of CLOCK_REALTIME that the kernel reports (adjtimex(2), maxerror), in nanoseconds; -1 if
/// the clock is not synchronized, or the call fails.
static inline int64_t clinux_realtime_error_ns(void) {
  struct timex kept = {0};
  int state = adjtimex(&kept);
  return state < 0 || state == TIME_ERROR || (kept.status & STA_UNSYNC) ? -1 : (int64_t)kept.maxerror * 1000;
}

/// Arms a timer. It fires first at `first_ns` of CLOCK_MONOTONIC, and then every `interval_ns`; 0 for `first_ns`
/// disarms the timer.
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

/// Returns CLOCK_BOOTTIME, which, unlike CLOCK_MONOTONIC, continues while the machine is suspended.
static inline int64_t clinux_boottime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Puts the terminal into exclusive mode (TIOCEXCL): later opens fail with EBUSY, except by root.
static inline int clinux_tty_exclusive(int fd) { return ioctl(fd, TIOCEXCL); }

/// Whether the terminal is in exclusive mode.
static inline bool clinux_tty_is_exclusive(int fd) {
  int exclusive = 0;
  return ioctl(fd, TIOCGEXCL, &exclusive) == 0 && exclusive;
}

/// Whether the terminal is a pseudo-terminal, whatever its name: majors 136 to 143 (Linux, admin-guide/devices.txt).
static inline bool clinux_tty_is_pseudo(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && major(status.st_rdev) >= 136 && major(status.st_rdev) <= 143;
}

/// Ends the exclusive mode of the terminal.
static inline int clinux_tty_shared(int fd) { return ioctl(fd, TIOCNXCL); }

static inline void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name); }

/// Sends a signal to one thread of a process. Returns 0, or -1 with errno set.
static inline int clinux_signal_thread(pid_t process, pid_t thread, int number) {
  return (int)syscall(SYS_tgkill, process, thread, number);
}

/// Sends bytes without blocking, and without SIGPIPE if the peer is gone.
static inline ssize_t clinux_send_now(int fd, const void *bytes, size_t count) {
  return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// Receives the waiting bytes without blocking.
static inline ssize_t clinux_receive_now(int fd, void *bytes, size_t count) {
  return recv(fd, bytes, count, MSG_DONTWAIT);
}

/// Opens a socket that becomes readable when this machine gains or loses an address (rtnetlink(7)). Returns its
/// descriptor, or -1 with errno set.
int clinux_watch_addresses(void);

/// Discards all waiting messages of the socket of `clinux_watch_addresses`.
void clinux_clear_address_changes(int fd);

/// Accepts a connection. Programs that this process starts do not inherit its descriptor.
int clinux_accept(int listener);

/// Reserves disk space for a part of a file without changing the size of the file (fallocate(2)). Returns 0 or a
/// negative errno.
int clinux_reserve(int fd, int64_t offset, int64_t count);

/// Flags that are added to the number of a signal. The first one means that the kernel itself sent the signal, for
/// example because a terminal has hung up. The second one means that the leader of the session sent it, which is the
/// shell.
enum { CLINUX_FROM_KERNEL = 0x80, CLINUX_FROM_SESSION_LEADER = 0x40 };

/// Makes SIGHUP, SIGINT and SIGTERM write their number and flags as a byte to a pipe, instead of ending the process.
/// Returns the reading end of the pipe, or a negative errno. Call this once.
int clinux_hear_signals(void);

/// Whether this process ignores a signal, as after nohup.
bool clinux_is_ignored(int signal);

/// Locks one byte of a file for the open file description, without waiting (fcntl(2), F_OFD_SETLK). The callers agree
/// on the meaning of each offset. The lock ends when the description is closed. Returns 0, or a negative errno, for
/// example if another description has the lock.
int clinux_lock_byte(int fd, int64_t offset);

/// Returns the time of the last rising edge of a pulse, in nanoseconds of CLOCK_REALTIME since 1970; 0 before the first
/// edge, or a negative errno.
int64_t clinux_pps_last(int fd);

/// Sends a sample to chronyd through the datagram socket that chronyd created: when the system clock showed
/// `system_ns`, it was `offset_s` seconds behind. Returns 0 or a negative errno.
int clinux_chrony_send(const char *path, int64_t system_ns, double offset_s);

/// Returns free memory of the allocator to the system (malloc_trim(3)).
void clinux_return_memory(void);

/// Waits without a time limit until a descriptor is readable.
static inline void clinux_wait_readable(int fd) {
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  poll(&wait, 1, -1);
}

/// Waits without a time limit until one of two descriptors is readable. Returns whether the second one is.
bool clinux_wait_readable_either(int fd, int other);

/// Binds a TCP socket to an address of 4 or 16 bytes. Returns 0, or -1 with errno set.
int clinux_bind_tcp(int fd, const uint8_t *address, size_t size, uint16_t port);

/// Writes the address and the port of the peer of a TCP socket; `address` must have room for 16 bytes. Returns the
/// length of the address, 4 or 16, or -1 with errno set.
int clinux_tcp_peer(int fd, uint8_t *address, uint16_t *port);

/// Opens a socket that sends datagrams to addresses of 4 or 16 bytes, including broadcast addresses. Datagrams to
/// multicast groups leave through `interface`, unless it is 0. Returns the descriptor, or -1 with errno set.
int clinux_udp_socket(size_t address_size, unsigned interface);

/// Sends a datagram without waiting. Returns 0 or -1 with errno set.
int clinux_udp_send(int fd, const uint8_t *address, size_t size, uint16_t port, unsigned interface, const void *bytes,
                    size_t count);

/// Opens a socket for frames of a CAN interface (SocketCAN, CAN_RAW). It receives only frames with 29-bit identifiers
/// whose identifier equals an entry of `identifiers` in the bits of `mask`, and none that it has sent itself. Returns
/// the descriptor, or -1 with errno set.
int clinux_can_socket(const char *interface, const uint32_t *identifiers, size_t count, uint32_t mask);

/// Sends a frame of at most 8 bytes without waiting. Returns 0, or -1 with errno set.
int clinux_can_send(int fd, uint32_t identifier, const uint8_t *bytes, size_t count);

/// Receives a frame without waiting; `bytes` must have room for 8 bytes. Returns the number of bytes, or -1 with errno
/// set.
int clinux_can_receive(int fd, uint32_t *identifier, uint8_t *bytes);

struct clinux_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
};

/// Writes the process, the user and the group of the peer of a Unix socket. Returns 0, or -1 with errno set.
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

/// Writes the supplementary groups that the peer of a Unix socket had when it connected. Returns their number, or -1
/// with errno set, also if there are more than `count` groups.
int clinux_socket_peer_groups(int fd, uint32_t *groups, int count);

/// Opens a file, a folder or a link without access to its contents, for example to examine its status (open(2),
/// O_PATH). Returns a descriptor, or -1 with errno set.
///
/// `follows`: whether a link is followed, whichever user made it.
int clinux_open_place(int folder, const char *path, bool follows);

/// Makes the descriptor `number` refer to the open file of `fd` (dup3(2)). Programs that this process starts do not
/// inherit it. Returns the number, or -1 with errno set.
int clinux_replace(int number, int fd);

/// Opens a pipe that programs started by this process do not inherit. Returns 0, or -1 with errno set.
int clinux_pipe(int ends[2]);

/// Makes a spawned program inherit no descriptor from `first` on. Returns 0 or an error number.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// Makes the kernel kill this process when the thread that started it ends (PR_SET_PDEATHSIG).
static inline void clinux_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

/// Limits the memory of this process, and prevents core files. RLIMIT_DATA counts the private writable part of the
/// address space, but not the code of the executable and its libraries. Returns 0, or -1 with errno set.
int clinux_limit_memory(uint64_t bytes);

/// Starts a program in a process group of its own, with the usual signals. The program inherits only two descriptors:
/// `input`, and `output` for its output and its error output. The memory of the program, and of each process that it
/// starts, is limited to `bytes` (RLIMIT_DATA) from the beginning, which posix_spawn(3) cannot do. They write no core
/// files. Both lists end with NULL, and the first argument is the path. Returns 0 or an error number.
int clinux_spawn_limited(
    pid_t *pid, char *const arguments[], char *const variables[], int input, int output, uint64_t bytes);

/// The limit that `clinux_spawn_limited` has set for a process of this user, in bytes; UINT64_MAX without a limit, 0 if
/// it cannot be read.
uint64_t clinux_data_limit(pid_t process);

/// Makes this process the parent of descendants whose parent ends (PR_SET_CHILD_SUBREAPER). Returns 0, or -1 with errno
/// set.
static inline int clinux_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

/// Opens a descriptor that becomes readable when a process has ended (pidfd_open(2)). Returns -1 with errno set on
/// failure, for example if the process does not exist.
int clinux_open_process(pid_t process);

/// Opens a pseudo-terminal, and writes the path of its terminal end. Returns the descriptor of its controlling end, or
/// a negative errno.
int clinux_open_pseudo_terminal(char *path, int path_size);

/// Reads a real-time clock (rtc(4)), in seconds since 1970 by the clock's own date. They are negative before 1970.
/// Returns 0 or a negative errno.
int clinux_rtc_time(int fd, int64_t *seconds);

/// Sets the alarm of a real-time clock to a date of that clock, in seconds since 1970, or switches it off. Returns 0 or
/// a negative errno: -EOVERFLOW or -ERANGE for a date that the clock cannot hold.
int clinux_rtc_set_alarm(int fd, int64_t seconds, bool is_on);

/// Reads the alarm of a real-time clock. Returns 1 if it is on, 0 if it is off, or a negative errno.
int clinux_rtc_alarm(int fd, int64_t *seconds);

/// Loads a library, and finds functions in it (dlopen(3), dlsym(3)). The library stays open, because its functions may
/// be called as long as the program runs.
///
/// `names`: the functions' names, each of which ends with a zero byte, and an empty name at the end.
/// `functions`: a structure of pointers to functions, one for each name, in the same order.
///
/// Returns whether the library is installed, and has all of the functions.
bool clinux_load_functions(const char *library, const char *names, void *functions);
