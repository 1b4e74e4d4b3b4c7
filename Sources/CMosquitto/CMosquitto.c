#define _GNU_SOURCE
#include "CMosquitto.h"

#include "CLinux.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

// Declarations and numbers from mosquitto.h and mqtt_protocol.h.
struct mosquitto;
typedef struct mqtt5__property properties;
struct message {
  int identifier;
  char *topic;
  void *payload;
  int count, qos;
  bool is_retained;
};
enum { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID = 3, TLS = 8, PAYLOAD_SIZE = 9, ERRNO = 14, LOOKUP = 15 };
enum { MALFORMED_UTF8 = 18, MALFORMED_PACKET = 21, QOS_NOT_SUPPORTED = 24, OVERSIZE_PACKET = 25 };
enum { PROTOCOL_VERSION = 1, NO_DELAY = 11 };
enum { MQTT_5 = 5 };
enum { MESSAGE_EXPIRY = 2, SESSION_EXPIRY = 17, MAXIMUM_PACKET_SIZE = 39 };
enum { DISCONNECT_WITH_WILL = 4 };

// The name, the result and the parameters of each function.
#define FUNCTIONS(F)                                                                                                    \
  F(lib_init, int, (void))                                                                                              \
  F(new, struct mosquitto *, (const char *, bool, void *))                                                              \
  F(destroy, void, (struct mosquitto *))                                                                                \
  F(int_option, int, (struct mosquitto *, int, int))                                                                    \
  F(username_pw_set, int, (struct mosquitto *, const char *, const char *))                                             \
  F(tls_set, int,                                                                                                       \
    (struct mosquitto *, const char *, const char *, const char *, const char *, int (*)(char *, int, int, void *)))    \
  F(will_set_v5, int, (struct mosquitto *, const char *, int, const void *, int, bool, properties *))                   \
  F(connect_bind_v5, int, (struct mosquitto *, const char *, int, int, const char *, const properties *))               \
  F(disconnect_v5, int, (struct mosquitto *, int, const properties *))                                                  \
  F(socket, int, (struct mosquitto *))                                                                                  \
  F(want_write, bool, (struct mosquitto *))                                                                             \
  F(loop_read, int, (struct mosquitto *, int))                                                                          \
  F(loop_write, int, (struct mosquitto *, int))                                                                         \
  F(loop_misc, int, (struct mosquitto *))                                                                               \
  F(subscribe_v5, int, (struct mosquitto *, int *, const char *, int, int, const properties *))                         \
  F(publish_v5, int, (struct mosquitto *, int *, const char *, int, const void *, int, bool, const properties *))       \
  F(property_add_int32, int, (properties **, int, uint32_t))                                                            \
  F(property_read_int32, const properties *, (const properties *, int, uint32_t *, bool))                               \
  F(property_free_all, void, (properties **))                                                                           \
  F(strerror, const char *, (int))                                                                                      \
  F(reason_string, const char *, (int))                                                                                 \
  F(connect_v5_callback_set, void,                                                                                      \
    (struct mosquitto *, void (*)(struct mosquitto *, void *, int, int, const properties *)))                           \
  F(disconnect_v5_callback_set, void,                                                                                   \
    (struct mosquitto *, void (*)(struct mosquitto *, void *, int, const properties *)))                                \
  F(publish_v5_callback_set, void,                                                                                      \
    (struct mosquitto *, void (*)(struct mosquitto *, void *, int, int, const properties *)))                           \
  F(subscribe_v5_callback_set, void,                                                                                    \
    (struct mosquitto *, void (*)(struct mosquitto *, void *, int, int, const int *, const properties *)))              \
  F(message_v5_callback_set, void,                                                                                      \
    (struct mosquitto *, void (*)(struct mosquitto *, void *, const struct message *, const properties *)))

static struct {
#define MEMBER(name, result, arguments) result(*name) arguments;
  FUNCTIONS(MEMBER)
} library;

static bool is_loaded;

static void load(void) {
#define NAME(name, result, arguments) "mosquitto_" #name "\0"
  if (clinux_load_functions("libmosquitto.so.1", FUNCTIONS(NAME), &library)) is_loaded = library.lib_init() == SUCCESS;
}

bool cmosquitto_is_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded;
}

struct cmosquitto {
  struct mosquitto *client;
  struct cmosquitto_events events;
  uint32_t session_expiry_seconds, maximum_packet_bytes;
};

static void answered(struct mosquitto *client, void *object, int reason, int flags, const properties *all) {
  (void)client, (void)flags;
  struct cmosquitto *self = object;
  uint32_t maximum = 0;
  library.property_read_int32(all, MAXIMUM_PACKET_SIZE, &maximum, false);
  self->events.answered(self->events.context, reason, maximum);
}

static void closed(struct mosquitto *client, void *object, int reason, const properties *all) {
  (void)client, (void)all;
  struct cmosquitto *self = object;
  self->events.closed(self->events.context, reason);
}

static void acknowledged(struct mosquitto *client, void *object, int identifier, int reason, const properties *all) {
  (void)client, (void)all;
  struct cmosquitto *self = object;
  self->events.acknowledged(self->events.context, identifier, reason);
}

static void subscribed(struct mosquitto *client, void *object, int identifier, int count, const int *granted,
                       const properties *all) {
  (void)client, (void)identifier, (void)all;
  struct cmosquitto *self = object;
  self->events.subscribed(self->events.context, count > 0 ? granted[0] : 128);
}

static void received(struct mosquitto *client, void *object, const struct message *message, const properties *all) {
  (void)client;
  struct cmosquitto *self = object;
  uint32_t expiry = 0;
  bool expires = library.property_read_int32(all, MESSAGE_EXPIRY, &expiry, false) != NULL;
  self->events.received(self->events.context, message->topic, message->payload, message->count,
                        message->is_retained, expires ? (int64_t)expiry : -1, message->qos > 0);
}

/// Returns no passphrase. Without this callback, OpenSSL would ask for one at the terminal.
static int no_passphrase(char *buffer, int size, int is_for_writing, void *context) {
  (void)buffer, (void)size, (void)is_for_writing, (void)context;
  return 0;
}

static int set_up(struct mosquitto *client, const struct cmosquitto_settings *settings) {
  int error = library.int_option(client, PROTOCOL_VERSION, MQTT_5);
  if (error == SUCCESS) error = library.int_option(client, NO_DELAY, 1);
  if (error == SUCCESS && settings->username) {
    error = library.username_pw_set(client, settings->username, settings->password);
  }
  if (error == SUCCESS && settings->is_encrypted) {
    error = library.tls_set(client, settings->ca_file, settings->ca_file ? NULL : "/etc/ssl/certs",
                            settings->certificate_file, settings->key_file, no_passphrase);
  }
  if (error == SUCCESS && settings->will_topic) {
    error = library.will_set_v5(client, settings->will_topic, (int)strlen(settings->will), settings->will, 1, true, NULL);
  }
  return error;
}

struct cmosquitto *cmosquitto_new(const struct cmosquitto_settings *settings, const struct cmosquitto_events *events,
                                  int *error) {
  *error = OUT_OF_MEMORY;
  struct cmosquitto *self = malloc(sizeof *self);
  if (!self) return NULL;
  self->events = *events;
  self->session_expiry_seconds = settings->session_expiry_seconds;
  self->maximum_packet_bytes = settings->maximum_packet_bytes;
  self->client = library.new(settings->identifier, settings->session_expiry_seconds == 0, self);
  if (self->client) *error = set_up(self->client, settings);
  if (*error != SUCCESS) {
    cmosquitto_free(self);
    return NULL;
  }
  library.connect_v5_callback_set(self->client, answered);
  library.disconnect_v5_callback_set(self->client, closed);
  library.publish_v5_callback_set(self->client, acknowledged);
  library.subscribe_v5_callback_set(self->client, subscribed);
  library.message_v5_callback_set(self->client, received);
  return self;
}

void cmosquitto_free(struct cmosquitto *self) {
  if (self->client) library.destroy(self->client);
  free(self);
}

int cmosquitto_connect(struct cmosquitto *self, const char *host, uint16_t port, int keep_alive_seconds) {
  properties *all = NULL;
  int error = library.property_add_int32(&all, MAXIMUM_PACKET_SIZE, self->maximum_packet_bytes);
  if (error == SUCCESS && self->session_expiry_seconds > 0) {
    error = library.property_add_int32(&all, SESSION_EXPIRY, self->session_expiry_seconds);
  }
  if (error == SUCCESS) error = library.connect_bind_v5(self->client, host, port, keep_alive_seconds, NULL, all);
  int number = errno;
  library.property_free_all(&all);
  errno = number;
  return error;
}

int cmosquitto_disconnect(struct cmosquitto *self) {
  return library.disconnect_v5(self->client, DISCONNECT_WITH_WILL, NULL);
}

int cmosquitto_socket(struct cmosquitto *self) { return library.socket(self->client); }
bool cmosquitto_wants_write(struct cmosquitto *self) { return library.want_write(self->client); }

int cmosquitto_read(struct cmosquitto *self) {
  int error = library.loop_read(self->client, 1);
  int number = errno;
  // Unless it is configured otherwise (mosquitto's set_tcp_nodelay), a broker sends nothing more until its earlier
  // bytes are acknowledged. The kernel delays the acknowledgement by 40 ms without TCP_QUICKACK. The option is not
  // permanent (tcp(7)), so it is set after each read.
  int yes = 1;
  int file = library.socket(self->client);
  if (file >= 0) setsockopt(file, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof yes);
  errno = number;
  return error;
}

int cmosquitto_write(struct cmosquitto *self) { return library.loop_write(self->client, 1); }
int cmosquitto_tick(struct cmosquitto *self) { return library.loop_misc(self->client); }

int cmosquitto_subscribe(struct cmosquitto *self, const char *filter) {
  return library.subscribe_v5(self->client, NULL, filter, 1, 0, NULL);
}

int cmosquitto_publish(struct cmosquitto *self, int *identifier, const char *topic, const void *payload, int count,
                       bool is_retained, uint32_t expiry_seconds) {
  properties *all = NULL;
  int error = SUCCESS;
  if (expiry_seconds > 0) error = library.property_add_int32(&all, MESSAGE_EXPIRY, expiry_seconds);
  if (error == SUCCESS) {
    error = library.publish_v5(self->client, identifier, topic, count, payload, 1, is_retained, all);
  }
  library.property_free_all(&all);
  return error;
}

bool cmosquitto_is_of_message(int error) {
  return error == PAYLOAD_SIZE || error == MALFORMED_UTF8 || error == QOS_NOT_SUPPORTED || error == OVERSIZE_PACKET;
}

bool cmosquitto_is_too_large(int error) { return error == PAYLOAD_SIZE || error == OVERSIZE_PACKET; }

// The library does not report what is wrong with a certificate. The message has the date without the time, because a
// message that changed every minute would be reported every minute.
static const char *tls_error(void) {
  static _Thread_local char text[256];
  char today[16] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(today, sizeof today, "%Y-%m-%d", &utc);
  snprintf(text, sizeof text,
           "no TLS: who vouches for the broker's certificate, is it of that name, and is it valid on %s, which is today by this "
           "board's clock? openssl s_client shows its dates",
           today);
  return text;
}

const char *cmosquitto_error(int error) {
  switch (error) {
  case OUT_OF_MEMORY: return "a message takes more memory than a connection may have";
  case INVALID: return "a certificate or key file cannot be read";
  case TLS: return tls_error();
  case ERRNO: return errno ? strerror(errno) : "the connection was closed";
  case LOOKUP: return gai_strerror(errno);
  // The library has no words for this.
  case MALFORMED_PACKET: return "the broker sent a packet that is not one of MQTT 5";
  default: return library.strerror(error);
  }
}

const char *cmosquitto_reason(int reason) { return library.reason_string(reason); }
