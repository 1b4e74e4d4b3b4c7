// libsystemd: service notification, the journal, devices that are plugged in, and Avahi, logind and ModemManager over
// D-Bus.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

/// Calls `appeared` with the name of each serial port and I2C bus that appears, and with each of its links, once udev
/// has processed it. Returns 0 when `stop_fd` becomes readable, or a negative errno.
int csystemd_watch_ports_and_buses(int stop_fd, void (*appeared)(void *context, const char *name), void *context);

/// Writes an identity of this machine for use by hubs. It is derived from /etc/machine-id, but does not reveal it.
/// Returns 0 or a negative errno.
int csystemd_hub_identity(uint8_t identity[16]);

/// Services that Avahi announces by mDNS while `csystemd_announcement_run` runs.
typedef struct csystemd_announcement csystemd_announcement;

/// The events of a report. The words of a report are the announced name, or the reason.
enum { CSYSTEMD_ANNOUNCEMENT_MADE, CSYSTEMD_ANNOUNCEMENT_ABSENT, CSYSTEMD_ANNOUNCEMENT_FAILED };

/// Reports an event. Called once for each change, on the thread that runs the announcement.
typedef void (*csystemd_announcement_report)(void *context, int event, const char *words);

/// Makes an announcement without services. Returns NULL if memory is exhausted.
csystemd_announcement *csystemd_announcement_new(const char *name);

/// Adds a service, such as `_gpsd._tcp`, with a TXT record for each line of `text`. Returns 0 or a negative errno.
int csystemd_announcement_add(csystemd_announcement *announcement, const char *type, uint16_t port, const char *text);

/// Announces the services, and again whenever Avahi is restarted. Returns 0 when `stop_fd` becomes readable, or a
/// negative errno, for example if there is no system bus.
int csystemd_announcement_run(
  csystemd_announcement *announcement, int stop_fd, csystemd_announcement_report report, void *context);

void csystemd_announcement_free(csystemd_announcement *announcement);

/// What logind can do with the machine.
enum { CSYSTEMD_POWER_OFF, CSYSTEMD_SUSPEND };

/// Asks logind to shut the machine down and switch it off, or to suspend it. A program that forbids this (an inhibitor
/// of the mode `block`) is respected, whatever user the hub runs as. Waits for the answer, at most as long as sd-bus
/// waits for a method, which is 25 s.
///
/// Returns 0 once logind has begun, or a negative errno with the reason in `refusal`: -EBUSY for an inhibitor, and
/// -EACCES if the hub's user may not do this.
int csystemd_power(int action, char *refusal, size_t size);

/// Whether `csystemd_power` would work now. Changes nothing. Returns 0, or a negative errno as `csystemd_power` does,
/// and -EOPNOTSUPP if the machine cannot do this.
int csystemd_can_power(int action, char *refusal, size_t size);

/// Whether a session of this class (sd_session_get_class(3)) is a user's. Returns 1 or 0.
int csystemd_is_user_class(const char *name);

/// Finds a user who is logged in. The machine's own sessions, such as that of a login screen, do not count. Returns 1
/// with the name, 0 if there is none or no logind, or a negative errno if that cannot be read.
int csystemd_logged_in(char *name, size_t size);

/// A modem's receiver, whose sentences come from ModemManager. Use it from one thread at a time.
typedef struct csystemd_modem csystemd_modem;

/// Switches the receiver of a modem on. A negative `number` stands for the first modem with a receiver. Waits for the
/// answers, at most 10 s for each.
///
/// Returns 0, or a negative errno with ModemManager's words in `problem`: -ENOTCONN without a system bus, -ESRCH if
/// ModemManager does not run, -ENODEV if there is no such modem, -EOPNOTSUPP if it has no receiver, -EACCES if the hub's
/// user may not use it, and -EBUSY if another program, such as another hub, has reserved the modem.
int csystemd_modem_open(csystemd_modem **modem, int number, char *problem, size_t size);

/// Switches the receiver of a modem off if a hub that was killed has left it on, and neither another hub nor another
/// program uses it. Waits for the answers. Returns the same values as `csystemd_modem_open`.
int csystemd_modem_make_safe(int number, char *problem, size_t size);

/// Returns the descriptor of the connection, which is readable when something arrives.
int csystemd_modem_fd(const csystemd_modem *modem);

/// Reads the sentences that have arrived. Returns the number of bytes, 0 if there are none, or a negative errno, which
/// is -ENODEV if the modem or ModemManager is gone.
long csystemd_modem_read(csystemd_modem *modem, char *buffer, size_t size);

/// Switches the receiver off, unless it was on before, and frees the memory. Waits for the answers.
void csystemd_modem_close(csystemd_modem *modem);
