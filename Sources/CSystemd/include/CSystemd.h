// libsystemd: service notification, the journal, devices that are plugged in, and Avahi over D-Bus.
#pragma once

#include <stdint.h>
#include <sys/uio.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

/// Calls back with each name, /dev/... and its links, of each serial port and I2C bus that appears, once udev is done with it.
/// Returns when `stop_fd` becomes readable, or a negative errno.
int csystemd_watch_ports_and_buses(int stop_fd, void (*appeared)(void *context, const char *name), void *context);

/// What this machine is for hubs alone, made of its number in /etc/machine-id, which cannot be told from it. Returns 0 or a
/// negative errno.
int csystemd_hub_identity(uint8_t identity[16]);

/// Services that Avahi announces by mDNS for as long as `csystemd_announcement_run` runs.
typedef struct csystemd_announcement csystemd_announcement;

/// What a report is about; its words are the name, or the reason.
enum { CSYSTEMD_ANNOUNCEMENT_MADE, CSYSTEMD_ANNOUNCEMENT_ABSENT, CSYSTEMD_ANNOUNCEMENT_FAILED };

/// Called on the thread that runs the announcement, once for each change.
typedef void (*csystemd_announcement_report)(void *context, int event, const char *words);

/// Returns NULL if there is no memory.
csystemd_announcement *csystemd_announcement_new(const char *name);

/// Adds a service, such as `_gpsd._tcp`, with a TXT record for each line of `text`. Returns 0 or a negative errno.
int csystemd_announcement_add(csystemd_announcement *announcement, const char *type, uint16_t port, const char *text);

/// Announces the services, and again when Avahi comes back. Returns when `stop_fd` becomes readable, or a negative errno if
/// there is no system bus.
int csystemd_announcement_run(
  csystemd_announcement *announcement, int stop_fd, csystemd_announcement_report report, void *context);

void csystemd_announcement_free(csystemd_announcement *announcement);
