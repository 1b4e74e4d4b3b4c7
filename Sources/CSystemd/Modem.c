#include "CSystemd.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

// ModemManager's D-Bus interface (org.freedesktop.ModemManager1.Modem.Location).
static const char destination[] = "org.freedesktop.ModemManager1";
static const char root[] = "/org/freedesktop/ModemManager1";
static const char location[] = "org.freedesktop.ModemManager1.Modem.Location";

// MMModemLocationSource.
enum { source_gps_raw = 1 << 1, source_gps_nmea = 1 << 2, source_gps_unmanaged = 1 << 4 };

// ModemManager's interval between two reports, unless a program sets another one.
enum { usual_seconds = 30 };

// A modem may need seconds to switch its receiver on.
static const uint64_t call_limit_us = 10 * 1000000;

// Held while a receiver is being switched on, or made safe. The hub does not wait longer than a few seconds for its
// devices to become safe. A slow modem may take longer. Without this lock, it could then be switched off after a client
// has switched it on.
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

struct csystemd_modem {
  sd_bus *bus;
  char *path;
  // The unique name of ModemManager on the bus. Any program may send the hub a signal, so the sender is compared.
  char *owner;
  // The sentences of the last report, and the new ones that the caller has not read yet.
  char *present, *unread;
  int is_gone, was_on, had_signals;
  uint32_t old_seconds;
  // A socket with the modem's name, which only one hub of the machine can have; a negative errno if another program has
  // it.
  int claim;
};

// Reserves a modem for this hub among the hubs of the machine, by binding a socket to a name made of the identity of
// the bus and the modem's path. The kernel releases the name however the hub ends. A program of any user can bind the
// name, and so keep hubs from using the receiver, and from switching off one that was left on. Both are reported.
//
// Returns a socket, or a negative errno.
static int claim(sd_bus *bus, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  sd_id128_t identity;
  char text[SD_ID128_STRING_MAX];
  int result = sd_bus_get_bus_id(bus, &identity);
  if (result < 0) return result;
  int length = snprintf(
    address.sun_path + 1, sizeof address.sun_path - 1, "sensorhub/%s%s", sd_id128_to_string(identity, text), path);
  if (length >= (int)sizeof address.sun_path - 1) return -ENAMETOOLONG;
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -errno;
  if (!bind(made, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length))) {
    return made;
  }
  int problem = errno;
  close(made);
  return -problem;
}

// Whether a text contains a line.
static int has_line(const char *text, const char *line, size_t length) {
  for (; text && *text; text += strspn(text, "\r\n")) {
    size_t size = strcspn(text, "\r\n");
    if (size == length && !memcmp(text, line, length)) return 1;
    text += size;
  }
  return 0;
}

static int is_type(const char *line, size_t length, const char *type) {
  return length > 6 && !memcmp(line + 3, type, 3);
}

static int is_list(const char *line, size_t length) {
  return is_type(line, length, "GSA") || is_type(line, length, "GSV");
}

// Takes a report, which has the last sentences of each type, and keeps only the new sentences for the caller. The lists
// of satellites have no time and may stay the same, so they are kept once for each new RMC. A receiver without a time
// repeats its RMC, and the lists are then kept whenever they change.
static int take(csystemd_modem *modem, const char *text) {
  int is_epoch = 0, has_time = 0, has_new_list = 0;
  for (const char *line = text; *line; line += strspn(line, "\r\n")) {
    size_t length = strcspn(line, "\r\n");
    int is_new = !has_line(modem->present, line, length);
    if (is_type(line, length, "RMC")) {
      if (is_new) is_epoch = 1;
      if (length > 7 && line[7] >= '0' && line[7] <= '9') has_time = 1;
    } else if (is_new && is_list(line, length)) {
      has_new_list = 1;
    }
    line += length;
  }
  if (!has_time && has_new_list) is_epoch = 1;
  size_t before = modem->unread ? strlen(modem->unread) : 0;
  // Each line ends with two bytes. The last one may lack them.
  char *unread = realloc(modem->unread, before + 2 * strlen(text) + 3);
  if (!unread) return -ENOMEM;
  modem->unread = unread;
  char *end = unread + before;
  for (const char *line = text; *line; line += strspn(line, "\r\n")) {
    size_t length = strcspn(line, "\r\n");
    if (length && (is_list(line, length) ? is_epoch : !has_line(modem->present, line, length))) {
      memcpy(end, line, length);
      end = stpcpy(end + length, "\r\n");
    }
    line += length;
  }
  *end = 0;
  free(modem->present);
  modem->present = strdup(text);
  return modem->present ? 0 : -ENOMEM;
}

// Reads the property Location, a{uv}.
static int take_location(csystemd_modem *modem, sd_bus_message *message) {
  int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{uv}");
  while (result >= 0 && (result = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "uv")) > 0) {
    uint32_t source;
    const char *text;
    result = sd_bus_message_read(message, "u", &source);
    if (result >= 0 && source == source_gps_nmea) {
      result = sd_bus_message_read(message, "v", "s", &text);
      if (result >= 0) result = take(modem, text);
    } else if (result >= 0) {
      result = sd_bus_message_skip(message, "v");
    }
    if (result >= 0) result = sd_bus_message_exit_container(message);
  }
  return result < 0 ? result : sd_bus_message_exit_container(message);
}

static int is_from(sd_bus_message *message, const char *sender) {
  const char *actual = sd_bus_message_get_sender(message);
  return actual && sender && !strcmp(actual, sender);
}

static int properties_changed(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
  (void)unused;
  const csystemd_modem *modem = userdata;
  const char *name;
  if (!is_from(message, modem->owner)) return 0;
  if (sd_bus_message_read(message, "s", &name) < 0 || strcmp(name, location)) return 0;
  int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
  while (result >= 0 && (result = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
    result = sd_bus_message_read(message, "s", &name);
    if (result >= 0 && !strcmp(name, "Location")) {
      result = sd_bus_message_enter_container(message, SD_BUS_TYPE_VARIANT, "a{uv}");
      if (result >= 0) result = take_location(userdata, message);
      if (result >= 0) result = sd_bus_message_exit_container(message);
    } else if (result >= 0) {
      result = sd_bus_message_skip(message, "v");
    }
    if (result >= 0) result = sd_bus_message_exit_container(message);
  }
  return 0;
}

// ModemManager has stopped, or the modem was unplugged.
static int went_away(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
  (void)unused;
  csystemd_modem *modem = userdata;
  const char *path;
  if (sd_bus_message_is_signal(message, NULL, "NameOwnerChanged")) {
    // Even if ModemManager has been started again, it does not know the hub's settings.
    if (is_from(message, "org.freedesktop.DBus")) modem->is_gone = 1;
  } else if (is_from(message, modem->owner) && sd_bus_message_read(message, "o", &path) >= 0
             && !strcmp(path, modem->path)) {
    modem->is_gone = 1;
  }
  return 0;
}

// Reads the capabilities of a modem from its interfaces and their properties, a{sa{sv}}. They are 0 if it has no
// receiver.
static int read_capabilities(sd_bus_message *reply, uint32_t *able) {
  const char *interface, *name;
  *able = 0;
  int result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "{sa{sv}}");
  while (result >= 0 && (result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_DICT_ENTRY, "sa{sv}")) > 0) {
    result = sd_bus_message_read(reply, "s", &interface);
    if (result >= 0 && strcmp(interface, location)) {
      result = sd_bus_message_skip(reply, "a{sv}");
    } else if (result >= 0) {
      result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "{sv}");
      while (result >= 0 && (result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        result = sd_bus_message_read(reply, "s", &name);
        if (result >= 0 && strcmp(name, "Capabilities")) result = sd_bus_message_skip(reply, "v");
        else if (result >= 0) result = sd_bus_message_read(reply, "v", "u", able);
        if (result >= 0) result = sd_bus_message_exit_container(reply);
      }
      if (result >= 0) result = sd_bus_message_exit_container(reply);
    }
    if (result >= 0) result = sd_bus_message_exit_container(reply);
  }
  return result < 0 ? result : sd_bus_message_exit_container(reply);
}

// Finds the path of the modem with this number, or of the first modem that can give sentences if the number is
// negative, and its capabilities. The list of modems contains them, so a modem that does not answer delays nothing.
static int find(csystemd_modem *modem, int number, uint32_t *able, sd_bus_error *error) {
  sd_bus_message *call = NULL, *reply = NULL;
  int result = sd_bus_message_new_method_call(
    modem->bus, &call, destination, root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
  // If the user has stopped ModemManager, this call must not start it.
  if (result >= 0) result = sd_bus_message_set_auto_start(call, 0);
  if (result >= 0) result = sd_bus_call(modem->bus, call, 0, error, &reply);
  if (result >= 0) {
    const char *owner = sd_bus_message_get_sender(reply);
    modem->owner = owner ? strdup(owner) : NULL;
    if (!modem->owner) result = -ENOMEM;
  }
  if (result >= 0) result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "{oa{sa{sv}}}");
  while (result >= 0 && !modem->path
         && (result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_DICT_ENTRY, "oa{sa{sv}}")) > 0) {
    const char *path;
    result = sd_bus_message_read(reply, "o", &path);
    if (result >= 0) result = read_capabilities(reply, able);
    if (result >= 0) result = sd_bus_message_exit_container(reply);
    const char *digits = result >= 0 ? strrchr(path, '/') : NULL;
    if (!digits || (number < 0 ? !(*able & source_gps_nmea) : atoi(digits + 1) != number)) continue;
    modem->path = strdup(path);
    if (!modem->path) result = -ENOMEM;
  }
  sd_bus_message_unref(call);
  sd_bus_message_unref(reply);
  return result < 0 ? result : modem->path ? 0 : -ENODEV;
}

static int get(csystemd_modem *modem, const char *name, char type, void *value, sd_bus_error *error) {
  return sd_bus_get_property_trivial(modem->bus, destination, modem->path, location, name, error, type, value);
}

static int set_up(csystemd_modem *modem, uint32_t sources, int has_signals, sd_bus_error *error) {
  return sd_bus_call_method(
    modem->bus, destination, modem->path, location, "Setup", error, NULL, "ub", sources, has_signals);
}

static int set_seconds(csystemd_modem *modem, uint32_t seconds, sd_bus_error *error) {
  return sd_bus_call_method(
    modem->bus, destination, modem->path, location, "SetGpsRefreshRate", error, NULL, "u", seconds);
}

// Switches the receiver off, and restores the settings that another program may rely on. Such a program may have
// changed the sources in the meantime, so they are read again. If the receiver cannot be switched off, the interval
// stays 0, so that the next hub recognizes the receiver and switches it off.
static int switch_off(csystemd_modem *modem, sd_bus_error *error) {
  uint32_t enabled = 0;
  int result = get(modem, "Enabled", 'u', &enabled, error);
  if (!modem->was_on) enabled &= ~(uint32_t)source_gps_nmea;
  if (result >= 0) result = set_up(modem, enabled, modem->had_signals, error);
  return result < 0 ? result : set_seconds(modem, modem->old_seconds, error);
}

// Whether GeoClue runs. It sets the interval of each modem to 0 too, and never restores it. Only the system's GeoClue
// may have this name.
static int is_geoclue_running(csystemd_modem *modem) {
  sd_bus_message *reply = NULL;
  int is_running = 0;
  int result = sd_bus_call_method(
    modem->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", NULL, &reply,
    "s", "org.freedesktop.GeoClue2");
  if (result >= 0) result = sd_bus_message_read(reply, "b", &is_running);
  sd_bus_message_unref(reply);
  return result >= 0 && is_running;
}

// Finds the modem, and reads its present settings from ModemManager.
//
// Returns a negative errno, or whether a hub that was killed has left the receiver on. Only such a hub, and GeoClue,
// leave the interval at 0 without a claim.
static int look_up(csystemd_modem *modem, int number, uint32_t *enabled, sd_bus_error *error) {
  uint32_t able = 0;
  int result = sd_bus_open_system(&modem->bus);
  if (result == -ENOENT || result == -ECONNREFUSED) return -ENOTCONN;
  if (result >= 0) result = sd_bus_set_method_call_timeout(modem->bus, call_limit_us);
  if (result >= 0) result = find(modem, number, &able, error);
  if (result >= 0 && !(able & source_gps_nmea)) result = -EOPNOTSUPP;
  if (result >= 0) result = get(modem, "Enabled", 'u', enabled, error);
  if (result >= 0) result = get(modem, "SignalsLocation", 'b', &modem->had_signals, error);
  if (result >= 0) result = get(modem, "GpsRefreshRate", 'u', &modem->old_seconds, error);
  if (result < 0) return result;
  modem->claim = claim(modem->bus, modem->path);
  int is_left = modem->old_seconds == 0 && modem->claim >= 0 && !is_geoclue_running(modem);
  if (is_left) {
    modem->old_seconds = usual_seconds;
    modem->had_signals = 0;
  }
  modem->was_on = !is_left && (*enabled & source_gps_nmea) != 0;
  return is_left;
}

static int start(csystemd_modem *modem, int number, sd_bus_error *error) {
  uint32_t enabled = 0;
  char match[256];
  int result = look_up(modem, number, &enabled, error);
  // Of two hubs, the first one would switch the receiver off while the second one still needs it.
  if (result >= 0 && modem->claim == -EADDRINUSE) result = -EBUSY;
  if (result > 0) enabled &= ~(uint32_t)source_gps_nmea;
  if (result >= 0) {
    result = sd_bus_match_signal(
      modem->bus, NULL, destination, modem->path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
      properties_changed, modem);
  }
  if (result >= 0) {
    result = sd_bus_match_signal(
      modem->bus, NULL, destination, root, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", went_away, modem);
  }
  if (result >= 0) {
    snprintf(
      match, sizeof match,
      "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='%s'", destination);
    result = sd_bus_add_match(modem->bus, NULL, match, went_away, modem);
  }
  if (result < 0) return result;
  // By default there is a report every 30 s. With 0, there is one for each sentence. The interval is set first, as the
  // mark of a receiver that the hub has switched on.
  result = set_seconds(modem, 0, error);
  if (result < 0) return result;
  result = set_up(modem, enabled | source_gps_nmea, 1, error);
  // A modem that answers too late may switch its receiver on nevertheless, so the mark stays.
  if (result == -ETIMEDOUT) (void)set_up(modem, enabled, modem->had_signals, NULL);
  else if (result < 0) (void)switch_off(modem, NULL);
  return result;
}

static csystemd_modem *new_modem(void) {
  csystemd_modem *modem = calloc(1, sizeof *modem);
  if (modem) modem->claim = -1;
  return modem;
}

static void free_modem(csystemd_modem *modem) {
  sd_bus_flush_close_unref(modem->bus);
  if (modem->claim >= 0) close(modem->claim);
  free(modem->path);
  free(modem->owner);
  free(modem->present);
  free(modem->unread);
  free(modem);
}

// Passes ModemManager's words on.
static int explain(int result, sd_bus_error *error, char *problem, size_t size) {
  snprintf(problem, size, "%s", error->message ? error->message : "");
  if (sd_bus_error_has_name(error, "org.freedesktop.DBus.Error.NameHasNoOwner")
      || sd_bus_error_has_name(error, "org.freedesktop.DBus.Error.ServiceUnknown")) {
    result = -ESRCH;
  } else if (sd_bus_error_has_name(error, "org.freedesktop.ModemManager1.Error.Core.Unauthorized")) {
    result = -EACCES;
  }
  sd_bus_error_free(error);
  return result;
}

int csystemd_modem_open(csystemd_modem **opened, int number, char *problem, size_t size) {
  *opened = NULL;
  csystemd_modem *modem = new_modem();
  if (!modem) return -ENOMEM;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  pthread_mutex_lock(&switching);
  int result = explain(start(modem, number, &error), &error, problem, size);
  if (result >= 0) *opened = modem;
  else free_modem(modem);
  pthread_mutex_unlock(&switching);
  return result < 0 ? result : 0;
}

int csystemd_modem_make_safe(int number, char *problem, size_t size) {
  csystemd_modem *modem = new_modem();
  if (!modem) return -ENOMEM;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  uint32_t enabled = 0;
  pthread_mutex_lock(&switching);
  int result = look_up(modem, number, &enabled, &error);
  // The receiver has the mark of a hub (the interval 0), and another program has the modem's name. That program is
  // another hub, or one that keeps hubs from switching the receiver off.
  if (!result && modem->old_seconds == 0 && (enabled & source_gps_nmea) && modem->claim < 0) {
    result = modem->claim == -EADDRINUSE ? -EBUSY : modem->claim;
  }
  // A source that the hub never sets belongs to another program, which uses the receiver too.
  if (result > 0 && !(enabled & (source_gps_raw | source_gps_unmanaged))) result = switch_off(modem, &error);
  result = explain(result, &error, problem, size);
  free_modem(modem);
  pthread_mutex_unlock(&switching);
  return result < 0 ? result : 0;
}

int csystemd_modem_fd(const csystemd_modem *modem) { return sd_bus_get_fd(modem->bus); }

long csystemd_modem_read(csystemd_modem *modem, char *buffer, size_t size) {
  int result;
  while ((result = sd_bus_process(modem->bus, NULL)) > 0) {}
  if (result < 0) return result;
  size_t waiting = modem->unread ? strlen(modem->unread) : 0;
  if (!waiting) return modem->is_gone ? -ENODEV : 0;
  size_t count = waiting < size ? waiting : size;
  memcpy(buffer, modem->unread, count);
  memmove(modem->unread, modem->unread + count, waiting - count + 1);
  return (long)count;
}

void csystemd_modem_close(csystemd_modem *modem) {
  if (!modem) return;
  if (!modem->is_gone) (void)switch_off(modem, NULL);
  free_modem(modem);
}
