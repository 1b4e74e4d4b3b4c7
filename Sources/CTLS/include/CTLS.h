// The client's side of TLS over libssl (openssl/ssl.h, version 3 of its interface). The library is not linked but
// loaded on first use, so a program that needs no TLS starts without it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

/// Whether the library is installed now. May be called from any thread.
bool ctls_is_available(void);

/// One TLS connection, to be used by one thread at a time. It has no socket: the caller moves the encrypted bytes, and
/// so keeps its own time limits.
struct ctls;

/// The reason why a peer's certificate is refused.
enum ctls_fault {
  CTLS_NO_FAULT,
  CTLS_NOT_YET_VALID,
  CTLS_EXPIRED,
  CTLS_OTHER_NAME,
  CTLS_SELF_SIGNED,
  CTLS_UNKNOWN_AUTHORITY,
  CTLS_OTHER_FAULT,
};

/// Makes a connection to a peer whose certificate must be for `host`, a name or an IP address. `ca_file` has the
/// trusted certificate authorities; `NULL` for those that the system trusts. Returns `NULL` if `ca_file` has no
/// certificate, or memory is exhausted; `ctls_reason` says why. The library must be available.
struct ctls *ctls_new(const char *host, const char *ca_file);
void ctls_free(struct ctls *self);

/// Takes bytes that came from the peer. Returns whether there was memory for them.
bool ctls_put(struct ctls *self, const void *bytes, size_t count);
/// Returns up to `count` bytes to send to the peer; 0 if there are none. Call this after each of the functions below.
size_t ctls_take(struct ctls *self, void *bytes, size_t count);

/// Continues the handshake. Returns 1 after its end, 0 if it needs bytes from the peer, and -1 if it failed.
int ctls_handshake(struct ctls *self);
/// Encrypts bytes. Returns whether that worked.
bool ctls_write(struct ctls *self, const void *bytes, size_t count);
/// Returns the number of decrypted bytes; 0 if the call needs bytes from the peer, -1 if the peer has ended the
/// connection, and -2 if an error has ended it.
ptrdiff_t ctls_read(struct ctls *self, void *bytes, size_t count);
/// Ends the connection, which makes bytes for the peer.
void ctls_close(struct ctls *self);

/// The reason why the peer's certificate was refused.
enum ctls_fault ctls_certificate_fault(const struct ctls *self);
/// The date from or until which the refused certificate is valid, such as 2026-01-31; empty for other faults.
const char *ctls_certificate_date(const struct ctls *self);
/// The reason of the last failure on this thread, in the library's words; empty if it has none.
const char *ctls_reason(void);
