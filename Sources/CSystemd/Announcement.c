#include "CSystemd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

// Avahi's D-Bus interface (avahi-daemon/org.freedesktop.Avahi.Server.xml and …EntryGroup.xml).
static const char destination[] = "org.freedesktop.Avahi";
static const char server[] = "org.freedesktop.Avahi.Server";
static const char entry_group[] = "org.freedesktop.Avahi.EntryGroup";

enum { any_interface = -1, any_protocol = -1, state_established = 2, state_collision = 3, state_failure = 4 };

struct service {
  char *type;
  uint16_t port;
  char *text;
};

struct csystemd_announcement {
  char *name;
  struct service *services;
  size_t count;
  sd_bus *bus;
  char *group;
  sd_bus_slot *states;
  int last;
  csystemd_announcement_report report;
  void *context;
};

csystemd_announcement *csystemd_announcement_new(const char *name) {
  csystemd_announcement *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->last = -1;
  made->name = strdup(name);
  if (made->name) return made;
  free(made);
  return NULL;
}

int csystemd_announcement_add(csystemd_announcement *made, const char *type, uint16_t port, const char *text) {
  struct service *grown = realloc(made->services, (made->count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  made->services = grown;
  struct service *service = &grown[made->count];
  *service = (struct service){.type = strdup(type), .port = port, .text = strdup(text)};
  made->count += 1;
  return service->type && service->text ? 0 : -ENOMEM;
}

void csystemd_announcement_free(csystemd_announcement *made) {
  if (!made) return;
  for (size_t index = 0; index < made->count; index += 1) {
    free(made->services[index].type);
    free(made->services[index].text);
  }
  free(made->services);
  free(made->name);
  free(made->group);
  free(made);
}

static void report(csystemd_announcement *made, int event, const char *words) {
  if (event == made->last) return;
  made->last = event;
  made->report(made->context, event, words ? words : "");
}

// Appends one TXT record for each line of the text.
static int append_text(sd_bus_message *message, const char *text) {
  int result = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "ay");
  while (result >= 0 && *text) {
    size_t length = strcspn(text, "\n");
    result = sd_bus_message_append_array(message, SD_BUS_TYPE_BYTE, text, length);
    text += length;
    if (*text) text += 1;
  }
  return result < 0 ? result : sd_bus_message_close_container(message);
}

static int add_service(csystemd_announcement *made, const struct service *service, sd_bus_error *error) {
  sd_bus_message *message = NULL;
  int result = sd_bus_message_new_method_call(made->bus, &message, destination, made->group, entry_group, "AddService");
  if (result >= 0) {
    result = sd_bus_message_append(
      message, "iiussssq", (int32_t)any_interface, (int32_t)any_protocol, (uint32_t)0, made->name, service->type, "",
      "", service->port);
  }
  if (result >= 0) result = append_text(message, service->text);
  if (result >= 0) result = sd_bus_call(made->bus, message, 0, error, NULL);
  sd_bus_message_unref(message);
  return result;
}

static int add_services(csystemd_announcement *made, sd_bus_error *error) {
  int result = 0;
  for (size_t index = 0; index < made->count && result >= 0; index += 1) {
    result = add_service(made, &made->services[index], error);
  }
  if (result < 0) return result;
  return sd_bus_call_method(made->bus, destination, made->group, entry_group, "Commit", error, NULL, NULL);
}

// Announces the services under the next free name that Avahi proposes, for example `boat #2`, because another machine
// has the present name.
static int rename_services(csystemd_announcement *made) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  const char *name;
  int result = sd_bus_call_method(
    made->bus, destination, "/", server, "GetAlternativeServiceName", &error, &reply, "s", made->name);
  if (result >= 0) result = sd_bus_message_read(reply, "s", &name);
  char *copy = result >= 0 ? strdup(name) : NULL;
  if (copy) {
    free(made->name);
    made->name = copy;
    result = sd_bus_call_method(made->bus, destination, made->group, entry_group, "Reset", &error, NULL, NULL);
    if (result >= 0) result = add_services(made, &error);
  }
  if (result < 0) report(made, CSYSTEMD_ANNOUNCEMENT_FAILED, error.message);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return 0;
}

static int state_changed(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
  (void)unused;
  csystemd_announcement *made = userdata;
  int32_t state;
  const char *reason;
  if (sd_bus_message_read(message, "is", &state, &reason) < 0) return 0;
  switch (state) {
  case state_established: report(made, CSYSTEMD_ANNOUNCEMENT_MADE, made->name); break;
  case state_collision: return rename_services(made);
  case state_failure: report(made, CSYSTEMD_ANNOUNCEMENT_FAILED, reason); break;
  default: break;
  }
  return 0;
}

static int announce(csystemd_announcement *made) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *call = NULL;
  sd_bus_message *reply = NULL;
  const char *group;
  made->states = sd_bus_slot_unref(made->states);
  int result = sd_bus_message_new_method_call(made->bus, &call, destination, "/", server, "EntryGroupNew");
  // If the user has stopped the daemon, this call must not start it.
  if (result >= 0) result = sd_bus_message_set_auto_start(call, 0);
  if (result >= 0) result = sd_bus_call(made->bus, call, 0, &error, &reply);
  if (result >= 0) result = sd_bus_message_read(reply, "o", &group);
  if (result >= 0) {
    free(made->group);
    made->group = strdup(group);
    result = made->group ? 0 : -ENOMEM;
  }
  if (result >= 0) {
    result = sd_bus_match_signal(
      made->bus, &made->states, destination, made->group, entry_group, "StateChanged", state_changed, made);
  }
  if (result >= 0) result = add_services(made, &error);
  if (result < 0) {
    int is_absent = sd_bus_error_has_name(&error, "org.freedesktop.DBus.Error.NameHasNoOwner")
      || sd_bus_error_has_name(&error, "org.freedesktop.DBus.Error.ServiceUnknown");
    report(
      made, is_absent ? CSYSTEMD_ANNOUNCEMENT_ABSENT : CSYSTEMD_ANNOUNCEMENT_FAILED,
      error.message ? error.message : strerror(-result));
  }
  sd_bus_message_unref(call);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return 0;
}

static int owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
  (void)unused;
  csystemd_announcement *made = userdata;
  const char *name, *old, *new;
  if (sd_bus_message_read(message, "sss", &name, &old, &new) < 0) return 0;
  if (*new) return announce(made);
  report(made, CSYSTEMD_ANNOUNCEMENT_ABSENT, "");
  return 0;
}

static int stop_event(sd_event_source *source, int fd, uint32_t events, void *userdata) {
  (void)fd, (void)events, (void)userdata;
  return sd_event_exit(sd_event_source_get_event(source), 0);
}

int csystemd_announcement_run(
  csystemd_announcement *made, int stop_fd, csystemd_announcement_report reporting, void *context) {
  made->report = reporting;
  made->context = context;
  sd_event *loop = NULL;
  int result = sd_event_new(&loop);
  if (result >= 0) result = sd_event_add_io(loop, NULL, stop_fd, EPOLLIN, stop_event, NULL);
  if (result >= 0) result = sd_bus_open_system(&made->bus);
  if (result >= 0) result = sd_bus_attach_event(made->bus, loop, 0);
  if (result >= 0) {
    result = sd_bus_add_match(
      made->bus, NULL,
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
      "arg0='org.freedesktop.Avahi'",
      owner_changed, made);
  }
  if (result >= 0) result = announce(made);
  if (result >= 0) result = sd_event_loop(loop);
  // Avahi withdraws the services when the connection ends.
  made->states = sd_bus_slot_unref(made->states);
  made->bus = sd_bus_flush_close_unref(made->bus);
  sd_event_unref(loop);
  return result < 0 ? result : 0;
}
