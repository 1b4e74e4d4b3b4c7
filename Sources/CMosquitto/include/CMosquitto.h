// An MQTT 5 client over libmosquitto (mosquitto.h, version 1 of its interface). The library is loaded when it is first asked for
// and never linked: a program that needs no broker starts without it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Whether the library is there. From any thread.
bool cmosquitto_is_available(void);

/// A client; for one thread at a time. What is waited for is the caller's business: `cmosquitto_socket` and `poll`.
struct cmosquitto;

/// Told from within `cmosquitto_read`, `_write`, `_tick` and `_connect`, on their thread.
struct cmosquitto_events {
  void *context;
  /// The broker has answered; 0 where it lets the client in, else its reason. `maximum_packet_bytes` is what it takes at most, 0
  /// where it does not say.
  void (*answered)(void *context, int reason, uint32_t maximum_packet_bytes);
  /// From 128 on it may not have what it has subscribed to.
  void (*subscribed)(void *context, int reason);
  /// A message, until the call returns. `is_retained` where the broker has kept it and says it because of the subscription;
  /// `expiry_seconds` is -1 where it has none.
  void (*received)(void *context, const char *topic, const void *payload, int count, bool is_retained,
                   int64_t expiry_seconds);
  /// The broker has a message of QoS 1; 16 where it says that nobody has subscribed to it, from 128 on where it refuses it.
  void (*acknowledged)(void *context, int identifier, int reason);
  /// The connection is over; why, where the broker has said so.
  void (*closed)(void *context, int reason);
};

struct cmosquitto_settings {
  const char *identifier;
  /// `NULL` for none.
  const char *username, *password;
  bool is_encrypted;
  /// `NULL` for the authorities that the system trusts.
  const char *ca_file;
  /// `NULL` for none.
  const char *certificate_file, *key_file;
  /// What the broker says in the client's name when it is gone without a word, retained; `NULL` for nothing.
  const char *will_topic, *will;
  /// For how long the broker keeps what it has for a client that is gone; 0 to begin anew with each connection.
  uint32_t session_expiry_seconds;
  /// The broker keeps longer messages to itself.
  uint32_t maximum_packet_bytes;
};

/// `NULL` where a file cannot be read or there is no memory; `error` says which.
struct cmosquitto *cmosquitto_new(const struct cmosquitto_settings *settings, const struct cmosquitto_events *events,
                                  int *error);
void cmosquitto_free(struct cmosquitto *client);

/// Looks the host up, and waits until it has answered or the kernel has given up. Returns 0 or an error of the library's.
int cmosquitto_connect(struct cmosquitto *client, const char *host, uint16_t port, int keep_alive_seconds);
/// Has the broker say the will.
int cmosquitto_disconnect(struct cmosquitto *client);

/// -1 where there is no connection.
int cmosquitto_socket(struct cmosquitto *client);
bool cmosquitto_wants_write(struct cmosquitto *client);
/// These three return 0, or an error where the connection is over.
int cmosquitto_read(struct cmosquitto *client);
int cmosquitto_write(struct cmosquitto *client);
/// Asks whether the broker is there, where it is time to.
int cmosquitto_tick(struct cmosquitto *client);

int cmosquitto_subscribe(struct cmosquitto *client, const char *filter);
/// At QoS 1. `expiry_seconds` 0 for a message that does not expire.
int cmosquitto_publish(struct cmosquitto *client, int *identifier, const char *topic, const void *payload, int count,
                       bool is_retained, uint32_t expiry_seconds);

/// Whether an error of `cmosquitto_publish` is the message's, which the broker would not take, and not the connection's.
bool cmosquitto_is_of_message(int error);
bool cmosquitto_is_too_large(int error);

/// An error of the library's in words; for its `MOSQ_ERR_ERRNO` the system's. Right after the call that returned it.
const char *cmosquitto_error(int error);
/// A reason of the broker's in words.
const char *cmosquitto_reason(int reason);
