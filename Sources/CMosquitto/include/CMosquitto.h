// An MQTT 5 client over libmosquitto (mosquitto.h, version 1 of its interface). The library is not linked but loaded on
// first use, so a program that needs no broker starts without it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Whether the library is installed. May be called from any thread.
bool cmosquitto_is_available(void);

/// A client, to be used by one thread at a time. The caller waits for events itself, with `cmosquitto_socket` and
/// poll(2).
struct cmosquitto;

/// The callbacks of a client. They are called from within `cmosquitto_read`, `_write`, `_tick` and `_connect`, on the
/// thread of the caller.
struct cmosquitto_events {
  void *context;
  /// The broker has answered the connection request. `reason` is 0 if it accepts the client. `maximum_packet_bytes` is
  /// the size of the largest packet that the broker accepts; 0 if the broker does not state it.
  void (*answered)(void *context, int reason, uint32_t maximum_packet_bytes);
  /// The broker has answered a subscription. A `reason` of 128 or more means that the broker refused it.
  void (*subscribed)(void *context, int reason);
  /// A message has arrived; it is valid until the call returns. `is_retained`: whether the broker had stored the
  /// message and sends it because of the subscription. `expiry_seconds` is -1 if the message does not expire.
  /// `is_answered`: whether the library acknowledges the message, which it does not at QoS 0.
  void (*received)(void *context, const char *topic, const void *payload, int count, bool is_retained,
                   int64_t expiry_seconds, bool is_answered);
  /// The broker has acknowledged a message of QoS 1. A `reason` of 16 means that the message has no subscriber, and 128
  /// or more that the broker refused the message.
  void (*acknowledged)(void *context, int identifier, int reason);
  /// The connection has ended. `reason` is the broker's, if it stated one.
  void (*closed)(void *context, int reason);
};

struct cmosquitto_settings {
  const char *identifier;
  /// `NULL` to connect without a name and a password.
  const char *username, *password;
  bool is_encrypted;
  /// The file with the trusted certificate authorities; `NULL` for those that the system trusts.
  const char *ca_file;
  /// The certificate of the client and its key; `NULL` for none.
  const char *certificate_file, *key_file;
  /// The retained message that the broker publishes for the client when the connection is lost (the "will"); `NULL` for
  /// none.
  const char *will_topic, *will;
  /// How long the broker keeps the session of a disconnected client; 0 to begin a new session with each connection.
  uint32_t session_expiry_seconds;
  /// The size of the largest packet that the broker may send.
  uint32_t maximum_packet_bytes;
};

/// Makes a client. Returns `NULL` if a file cannot be read or memory is exhausted; `error` states which.
struct cmosquitto *cmosquitto_new(const struct cmosquitto_settings *settings, const struct cmosquitto_events *events,
                                  int *error);
void cmosquitto_free(struct cmosquitto *client);

/// Looks up the host and connects. Blocks until the host has answered, or the kernel gives up. Returns 0 or an error of
/// the library.
int cmosquitto_connect(struct cmosquitto *client, const char *host, uint16_t port, int keep_alive_seconds);
/// Disconnects, and makes the broker publish the will.
int cmosquitto_disconnect(struct cmosquitto *client);

/// The descriptor of the connection; -1 if there is none.
int cmosquitto_socket(struct cmosquitto *client);
bool cmosquitto_wants_write(struct cmosquitto *client);
/// This function and the next two return 0, or an error if the connection has ended.
int cmosquitto_read(struct cmosquitto *client);
int cmosquitto_write(struct cmosquitto *client);
/// Sends a ping to the broker if one is due.
int cmosquitto_tick(struct cmosquitto *client);

int cmosquitto_subscribe(struct cmosquitto *client, const char *filter);
/// Publishes a message at QoS 1. `expiry_seconds` is 0 for a message that does not expire.
int cmosquitto_publish(struct cmosquitto *client, int *identifier, const char *topic, const void *payload, int count,
                       bool is_retained, uint32_t expiry_seconds);

/// Whether an error of `cmosquitto_publish` concerns only the message, which the broker would not accept, and not the
/// connection.
bool cmosquitto_is_of_message(int error);
bool cmosquitto_is_too_large(int error);

/// The text of an error of the library; for `MOSQ_ERR_ERRNO`, the text of errno. Call this right after the call that
/// returned the error.
const char *cmosquitto_error(int error);
/// The text of a reason that the broker stated.
const char *cmosquitto_reason(int reason);
