// libsystemd: service notification, the journal, and devices that are plugged in.
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
