#include "CSystemd.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>

// logind's D-Bus interface (org.freedesktop.login1(5)).
static const char destination[] = "org.freedesktop.login1";
static const char path[] = "/org/freedesktop/login1";
static const char manager[] = "org.freedesktop.login1.Manager";

typedef struct {
  // The method, the method that asks whether it would work, the action's name in inhibitors, and its name in messages.
  const char *method, *can, *what, *words;
} power_action;

static const power_action actions[] = {
    [CSYSTEMD_POWER_OFF] = {"PowerOff", "CanPowerOff", "shutdown", "switch this machine off"},
    [CSYSTEMD_SUSPEND] = {"Suspend", "CanSuspend", "sleep", "suspend this machine"},
};

// Whether a list with colons, such as "sleep:shutdown", contains a word.
static int contains(const char *list, const char *word) {
  size_t size = strlen(word);
  for (const char *found = strstr(list, word); found; found = strstr(found + 1, word)) {
    if ((found == list || found[-1] == ':') && (found[size] == 0 || found[size] == ':')) return 1;
  }
  return 0;
}

// Finds a program that forbids an action. Returns 1 if there is one, 0 if there is none, or a negative errno.
static int find_inhibitor(
  sd_bus *bus, const power_action *action, sd_bus_error *error, char *refusal, size_t size) {
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
    if (strcmp(mode, "block") || !contains(what, action->what)) continue;
    snprintf(refusal, size, "%s forbids it: %s", who, why);
    is_blocked = 1;
  }
  sd_bus_message_unref(reply);
  return result < 0 ? result : is_blocked;
}

// Asks logind whether the machine can do this, and whether the hub's user may. Returns 0 or a negative errno.
static int ask(sd_bus *bus, const power_action *action, sd_bus_error *error, char *refusal, size_t size) {
  sd_bus_message *reply = NULL;
  const char *answer = "";
  int result = sd_bus_call_method(bus, destination, path, manager, action->can, error, &reply, NULL);
  if (result >= 0) result = sd_bus_message_read(reply, "s", &answer);
  if (result >= 0) {
    result = 0;
    if (!strcmp(answer, "na")) {
      result = -EOPNOTSUPP;
      snprintf(refusal, size, "the kernel cannot %s", action->words);
    } else if (!strcmp(answer, "no") || !strcmp(answer, "challenge")) {
      result = -EACCES;
      snprintf(refusal, size, "the hub's user may not %s", action->words);
    }
  }
  sd_bus_message_unref(reply);
  return result;
}

static int power(int number, int is_real, char *refusal, size_t size) {
  const power_action *action = &actions[number];
  sd_bus *bus = NULL;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  refusal[0] = 0;
  int result = sd_bus_open_system(&bus);
  // logind obeys inhibitors only for some users, so they are looked up first.
  if (result >= 0) result = find_inhibitor(bus, action, &error, refusal, size);
  if (result > 0) {
    result = -EBUSY;
  } else if (result == 0 && is_real) {
    result = sd_bus_call_method(bus, destination, path, manager, action->method, &error, NULL, "b", 0);
  } else if (result == 0) {
    result = ask(bus, action, &error, refusal, size);
  }
  if (result < 0 && !refusal[0]) snprintf(refusal, size, "%s", error.message ? error.message : strerror(-result));
  sd_bus_error_free(&error);
  sd_bus_flush_close_unref(bus);
  return result < 0 ? result : 0;
}

int csystemd_power(int action, char *refusal, size_t size) { return power(action, 1, refusal, size); }

int csystemd_can_power(int action, char *refusal, size_t size) { return power(action, 0, refusal, size); }

// Since systemd 256 the sessions of root, and those without a manager of the user's services, have classes of their own:
// "user-early", "user-light", "user-early-light".
int csystemd_is_user_class(const char *name) { return !strcmp(name, "user") || !strncmp(name, "user-", 5); }

// Whether a session is one of a user at a terminal, a screen or a network connection. Others are those of login screens
// and of services. Returns 1, 0, or a negative errno if logind's files cannot be read.
static int is_of_user(const char *session) {
  char *class = NULL, *state = NULL;
  int result = sd_session_get_class(session, &class);
  // The session has ended in the meantime, or has no class.
  if (result == -ENXIO || result == -ENOENT || result == -ENODATA) return 0;
  if (result >= 0) {
    result = csystemd_is_user_class(class);
    if (result && sd_session_get_state(session, &state) >= 0) result = strcmp(state, "closing") != 0;
  }
  free(class);
  free(state);
  return result;
}

int csystemd_logged_in(char *name, size_t size) {
  char **sessions = NULL;
  int count = sd_get_sessions(&sessions);
  if (count < 0) return count == -ENOENT ? 0 : count;
  int result = 0;
  for (int i = 0; i < count; i++) {
    int is_user = result == 1 ? 0 : is_of_user(sessions[i]);
    if (is_user > 0) {
      uid_t user;
      struct passwd entry, *known = NULL;
      char text[4096];
      if (sd_session_get_uid(sessions[i], &user) >= 0) getpwuid_r(user, &entry, text, sizeof text, &known);
      snprintf(name, size, "%s", known ? known->pw_name : "a user");
    }
    // If a user is found, an error in reading another session does not matter.
    if (is_user) result = is_user;
    free(sessions[i]);
  }
  free(sessions);
  return result;
}
