#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <linux/can.h>
#include <linux/can/raw.h>
#include <linux/close_range.h>
#include <linux/pps.h>
#include <linux/rtc.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

int clinux_socket_peer_groups(int fd, uint32_t *groups, int count) {
  socklen_t size = count * sizeof *groups;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) return -1;
  return size / sizeof *groups;
}

int clinux_open_place(int folder, const char *path, bool follows) {
  return openat(folder, path, O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
}

int clinux_replace(int number, int fd) { return dup3(fd, number, O_CLOEXEC); }

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int clinux_limit_memory(uint64_t bytes) {
  // The memory holds a password, so it must not be dumped. RLIMIT_CORE has no effect if core files are piped to a
  // program; PR_SET_DUMPABLE has.
  prctl(PR_SET_DUMPABLE, 0);
  struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  return setrlimit(RLIMIT_DATA, &limit);
}

/// Replaces the child process by the program. Until then the child shares the memory of its parent, so this function
/// makes only system calls. If the program cannot be run, the child reports an error number and ends.
static _Noreturn void become_limited(
    char *const arguments[], char *const variables[], int input, int output, uint64_t bytes, int report) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
  struct rlimit none = {.rlim_cur = 0, .rlim_max = 0}, limit = {.rlim_cur = bytes, .rlim_max = bytes};
  // This call fails if this process already has a lower limit. The program then has the lower limit.
  setrlimit(RLIMIT_DATA, &limit);
  setrlimit(RLIMIT_CORE, &none);
  // Linux before 5.11 cannot mark a range of descriptors.
  if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    for (rlim_t fd = STDERR_FILENO + 1; fd < limit.rlim_cur; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
  sigset_t mask;
  sigemptyset(&mask);
  if (setpgid(0, 0) == 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
      dup2(output, STDERR_FILENO) >= 0 && sigprocmask(SIG_SETMASK, &mask, NULL) == 0)
    execve(arguments[0], arguments, variables);
  int error = errno;
  _exit(write(report, &error, sizeof error) == sizeof error ? 127 : 126);
}

int clinux_spawn_limited(
    pid_t *pid, char *const arguments[], char *const variables[], int input, int output, uint64_t bytes) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  // No signal handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  *pid = vfork();
  if (*pid == 0) become_limited(arguments, variables, input, output, bytes, report[1]);
  int error = *pid < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (error == 0) {
    // Either the program has begun, which closed the other end, or the child has sent an error.
    ssize_t count;
    do count = read(report[0], &error, sizeof error);
    while (count < 0 && errno == EINTR);
    if (count > 0)
      while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  close(report[0]);
  return error;
}

uint64_t clinux_data_limit(pid_t process) {
  struct rlimit limit;
  if (prlimit(process, RLIMIT_DATA, NULL, &limit) != 0) return 0;
  return limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
}

int clinux_open_process(pid_t process) { return syscall(SYS_pidfd_open, process, 0); }

int clinux_reserve(int fd, int64_t offset, int64_t count) {
  return fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, count) == 0 ? 0 : -errno;
}

int clinux_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }

int clinux_clock_change(void) {
  int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) return -1;
  struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000}};
  if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0) return fd;
  close(fd);
  return -1;
}

void clinux_clear_clock_change(int fd) {
  // The read fails with ECANCELED, and the descriptor is then no longer readable.
  uint64_t expirations;
  (void)!read(fd, &expirations, sizeof expirations);
}

bool clinux_wait_readable_either(int fd, int other) {
  struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = other, .events = POLLIN}};
  return poll(waits, 2, -1) > 0 && waits[1].revents != 0;
}

int clinux_watch_addresses(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  if (bind(fd, (struct sockaddr *)&name, sizeof name) == 0) return fd;
  close(fd);
  return -1;
}

void clinux_clear_address_changes(int fd) {
  char bytes[4096];
  // ENOBUFS means that messages were lost; the next call reads the remaining ones.
  while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0 || errno == ENOBUFS || errno == EINTR) errno = 0;
}

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

int clinux_udp_socket(size_t address_size, unsigned interface) {
  int isIPv4 = address_size == 4;
  int fd = socket(isIPv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int yes = 1;
  int result = setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
  if (result == 0 && interface != 0) {
    struct ip_mreqn group = {.imr_ifindex = (int)interface};
    int index = (int)interface;
    result = isIPv4 ? setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group)
                    : setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index);
  }
  if (result == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int clinux_udp_send(int fd, const uint8_t *address, size_t size, uint16_t port, unsigned interface, const void *bytes,
                    size_t count) {
  ssize_t sent;
  if (size == 4) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&name.sin_addr, address, 4);
    sent = sendto(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof name);
  } else {
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = interface};
    memcpy(&name.sin6_addr, address, 16);
    sent = sendto(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof name);
  }
  return sent < 0 ? -1 : 0;
}

int clinux_can_socket(const char *interface, const uint32_t *identifiers, size_t count, uint32_t mask) {
  struct can_filter filters[8];
  if (count > sizeof filters / sizeof *filters) {
    errno = EINVAL;
    return -1;
  }
  for (size_t i = 0; i < count; i++)
    filters[i] = (struct can_filter){
        .can_id = identifiers[i] | CAN_EFF_FLAG, .can_mask = mask | CAN_EFF_FLAG | CAN_RTR_FLAG};
  int fd = socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, CAN_RAW);
  if (fd < 0) return -1;
  // if_nametoindex would need a socket of another family, which the sandbox may forbid.
  struct ifreq request = {0};
  strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  struct sockaddr_can name = {.can_family = AF_CAN};
  if (setsockopt(fd, SOL_CAN_RAW, CAN_RAW_FILTER, filters, count * sizeof *filters) == 0 &&
      ioctl(fd, SIOCGIFINDEX, &request) == 0) {
    name.can_ifindex = request.ifr_ifindex;
    if (bind(fd, (struct sockaddr *)&name, sizeof name) == 0) return fd;
  }
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int clinux_can_send(int fd, uint32_t identifier, const uint8_t *bytes, size_t count) {
  struct can_frame frame = {.can_id = identifier | CAN_EFF_FLAG, .can_dlc = count};
  memcpy(frame.data, bytes, count);
  return write(fd, &frame, sizeof frame) == sizeof frame ? 0 : -1;
}

int clinux_can_receive(int fd, uint32_t *identifier, uint8_t *bytes) {
  struct can_frame frame;
  ssize_t size = read(fd, &frame, sizeof frame);
  if (size < 0) return -1;
  if (size != sizeof frame || frame.can_dlc > sizeof frame.data) {
    errno = EAGAIN;
    return -1;
  }
  *identifier = frame.can_id & CAN_EFF_MASK;
  memcpy(bytes, frame.data, frame.can_dlc);
  return frame.can_dlc;
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
static pid_t session_leader;

static void write_signal(int signal, siginfo_t *info, void *context) {
  (void)context;
  int error = errno;
  uint8_t byte = (uint8_t)signal;
  if (info->si_code == SI_KERNEL) byte |= CLINUX_FROM_KERNEL;
  else if (info->si_pid == session_leader) byte |= CLINUX_FROM_SESSION_LEADER;
  (void)!write(signal_pipe[1], &byte, 1);
  errno = error;
}

int clinux_hear_signals(void) {
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
  session_leader = getsid(0);
  struct sigaction action = {.sa_sigaction = write_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
  int heard[] = {SIGHUP, SIGINT, SIGTERM};
  for (unsigned i = 0; i < sizeof heard / sizeof *heard; i++) sigaction(heard[i], &action, NULL);
  return signal_pipe[0];
}

bool clinux_is_ignored(int signal) {
  struct sigaction action;
  return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void clinux_return_memory(void) { malloc_trim(0); }

int clinux_lock_byte(int fd, int64_t offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

int64_t clinux_pps_last(int fd) {
  // With a timeout of zero, PPS_FETCH returns at once.
  struct pps_fdata data = {0};
  if (ioctl(fd, PPS_FETCH, &data) != 0) return -errno;
  return data.info.assert_tu.sec * 1000000000 + data.info.assert_tu.nsec;
}

int clinux_chrony_send(const char *path, int64_t system_ns, double offset_s) {
  // This is the sample format in chrony's documentation of the reference clock SOCK.
  struct {
    struct timeval at;
    double offset;
    int is_pulse, leap, padding, magic;
  } sample = {
      .at = {.tv_sec = system_ns / 1000000000, .tv_usec = system_ns % 1000000000 / 1000},
      .offset = offset_s,
      .magic = 0x534f434b,
  };
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  ssize_t sent = sendto(fd, &sample, sizeof sample, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address);
  int result = sent == sizeof sample ? 0 : -errno;
  close(fd);
  return result;
}

// The kernel counts months and years as struct tm does. Returns 0, or -EOVERFLOW for a date that time_t cannot hold.
static int rtc_seconds(const struct rtc_time *time, int64_t *seconds) {
  struct tm date = {
      .tm_sec = time->tm_sec,
      .tm_min = time->tm_min,
      .tm_hour = time->tm_hour,
      .tm_mday = time->tm_mday,
      .tm_mon = time->tm_mon,
      .tm_year = time->tm_year,
  };
  errno = 0;
  *seconds = timegm(&date);
  return *seconds == -1 && errno ? -EOVERFLOW : 0;
}

int clinux_rtc_time(int fd, int64_t *seconds) {
  struct rtc_time time;
  return ioctl(fd, RTC_RD_TIME, &time) == 0 ? rtc_seconds(&time, seconds) : -errno;
}

int clinux_rtc_set_alarm(int fd, int64_t seconds, bool is_on) {
  time_t instant = seconds;
  struct tm date;
  if (instant != seconds || !gmtime_r(&instant, &date)) return -EOVERFLOW;
  struct rtc_wkalrm alarm = {
      .enabled = is_on,
      .time = {.tm_sec = date.tm_sec,
               .tm_min = date.tm_min,
               .tm_hour = date.tm_hour,
               .tm_mday = date.tm_mday,
               .tm_mon = date.tm_mon,
               .tm_year = date.tm_year,
               .tm_wday = -1,
               .tm_yday = -1,
               .tm_isdst = -1},
  };
  return ioctl(fd, RTC_WKALM_SET, &alarm) == 0 ? 0 : -errno;
}

int clinux_rtc_alarm(int fd, int64_t *seconds) {
  struct rtc_wkalrm alarm = {0};
  if (ioctl(fd, RTC_WKALM_RD, &alarm) != 0) return -errno;
  if (!alarm.enabled) return 0;
  int result = rtc_seconds(&alarm.time, seconds);
  return result < 0 ? result : 1;
}

bool clinux_load_functions(const char *library, const char *names, void *functions) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return false;
  for (char *place = functions; *names; names += strlen(names) + 1, place += sizeof(void *)) {
    void *function = dlsym(handle, names);
    if (!function) return false;
    memcpy(place, &function, sizeof function);
  }
  return true;
}
