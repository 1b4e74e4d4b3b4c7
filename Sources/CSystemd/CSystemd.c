#include "CSystemd.h"

#include <string.h>
#include <sys/epoll.h>

#include <systemd/sd-device.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>

struct watch {
  void (*appeared)(void *context, const char *name);
  void *context;
};

static int device_event(sd_device_monitor *monitor, sd_device *device, void *userdata) {
  (void)monitor;
  struct watch *watch = userdata;
  sd_device_action_t action;
  const char *name;
  if (sd_device_get_action(device, &action) < 0 || action != SD_DEVICE_ADD) return 0;
  if (sd_device_get_devname(device, &name) >= 0) watch->appeared(watch->context, name);
  for (name = sd_device_get_devlink_first(device); name; name = sd_device_get_devlink_next(device)) {
    watch->appeared(watch->context, name);
  }
  return 0;
}

static int stop_event(sd_event_source *source, int fd, uint32_t events, void *userdata) {
  (void)fd, (void)events, (void)userdata;
  return sd_event_exit(sd_event_source_get_event(source), 0);
}

int csystemd_watch_ports_and_buses(int stop_fd, void (*appeared)(void *context, const char *name), void *context) {
  struct watch watch = {.appeared = appeared, .context = context};
  sd_event *loop = NULL;
  sd_device_monitor *monitor = NULL;
  int result = sd_event_new(&loop);
  if (result >= 0) result = sd_event_add_io(loop, NULL, stop_fd, EPOLLIN, stop_event, NULL);
  if (result >= 0) result = sd_device_monitor_new(&monitor);
  if (result >= 0) result = sd_device_monitor_filter_add_match_subsystem_devtype(monitor, "tty", NULL);
  if (result >= 0) result = sd_device_monitor_filter_add_match_subsystem_devtype(monitor, "i2c-dev", NULL);
  if (result >= 0) result = sd_device_monitor_filter_add_match_subsystem_devtype(monitor, "gnss", NULL);
  if (result >= 0) result = sd_device_monitor_attach_event(monitor, loop);
  if (result >= 0) result = sd_device_monitor_start(monitor, device_event, &watch);
  if (result >= 0) result = sd_event_loop(loop);
  sd_device_monitor_unref(monitor);
  sd_event_unref(loop);
  return result < 0 ? result : 0;
}

int csystemd_hub_identity(uint8_t identity[16]) {
  // An arbitrary number for this use. Identities that other programs derive from the machine's ID differ from this one.
  const sd_id128_t use = SD_ID128_MAKE(5b, 1e, 0c, 7f, 3d, 94, 4a, 2e, 9d, 60, f2, 81, 37, c5, aa, 1b);
  sd_id128_t result;
  int error = sd_id128_get_machine_app_specific(use, &result);
  if (error < 0) return error;
  memcpy(identity, result.bytes, 16);
  return 0;
}
