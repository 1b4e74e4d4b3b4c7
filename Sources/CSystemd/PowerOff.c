#include "CSystemd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <systemd/sd-bus.h>

// logind's D-Bus interface (org.freedesktop.login1(5)).
static const char destination[] = "org.freedesktop.login1";
static const char path[] = "/org/freedesktop/login1";
static const char manager[] = "org.freedesktop.login1.Manager";

// Finds a program that forbids shutting down. Returns 1 if there is one, 0 if there is none, or a negative errno.
static int find_inhibitor(sd_bus *bus, sd_bus_error *error, char *refusal, size_t size) {
  sd_bus_message *reply = NULL;
  int result = sd_bus_call_method(bus, destination, path, manager, "ListInhibitors", error, &reply, NULL);
  if (result >= 0) result = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "(ssssuu)");
  int is_blocked = 0;
  while (result >= 0 && !is_blocked) {
    const char *what, *who, *why, *mode;
    uint32_t user, process;
    result = sd_bus_message_read(reply, "(ssssuu)", &what, &who, &why, &mode, &user, &process);
    if (result <= 0) break;
    // "block-weak" does not apply to other users' programs.
    if (strcmp(mode, "block") || !strstr(what, "shutdown")) continue;
    snprintf(refusal, size, "%s forbids it: %s", who, why);
    is_blocked = 1;
  }
  sd_bus_message_unref(reply);
  return result < 0 ? result : is_blocked;
}

int csystemd_power_off(char *refusal, size_t size) {
  sd_bus *bus = NULL;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  refusal[0] = 0;
  int result = sd_bus_open_system(&bus);
  // logind obeys inhibitors only for some users, so they are looked up first.
  if (result >= 0) result = find_inhibitor(bus, &error, refusal, size);
  if (result == 0) {
    result = sd_bus_call_method(bus, destination, path, manager, "PowerOff", &error, NULL, "b", 0);
  } else if (result > 0) {
    result = -EBUSY;
  }
  if (result < 0 && !refusal[0]) snprintf(refusal, size, "%s", error.message ? error.message : strerror(-result));
  sd_bus_error_free(&error);
  sd_bus_flush_close_unref(bus);
  return result < 0 ? result : 0;
}
