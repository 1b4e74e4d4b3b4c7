#include "CTLS.h"

#include "CLinux.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Declarations and numbers from openssl/ssl.h, x509_vfy.h, bio.h, asn1.h, err.h and crypto.h.
typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct x509_st X509;
typedef struct x509_store_ctx_st X509_STORE_CTX;
typedef struct x509_verify_param_st X509_VERIFY_PARAM;
typedef struct asn1_string_st ASN1_TIME;
typedef struct ossl_init_settings_st OPENSSL_INIT_SETTINGS;
typedef int verify_callback(int, X509_STORE_CTX *);

enum { INIT_WITHOUT_EXIT_HANDLER = 0x00080000 };
enum { CTRL_SERVER_NAME = 55, CTRL_LOWEST_VERSION = 123, HOST_NAME = 0, TLS_1_2 = 0x0303 };
enum { VERIFY_PEER = 1, NO_RENEGOTIATION = 1 << 30 };
enum { ERROR_WANT_READ = 2, ERROR_ZERO_RETURN = 6 };
enum {
  FAULT_NO_ISSUER = 2,
  FAULT_NOT_YET_VALID = 9,
  FAULT_EXPIRED = 10,
  FAULT_SELF_SIGNED = 18,
  FAULT_SELF_SIGNED_IN_CHAIN = 19,
  FAULT_NO_LOCAL_ISSUER = 20,
  FAULT_UNVERIFIED_LEAF = 21,
  FAULT_HOST_NAME = 62,
  FAULT_IP_ADDRESS = 64,
};

// The name, the result and the parameters of each function.
#define FUNCTIONS(F)                                                                                                    \
  F(OPENSSL_init_ssl, int, (uint64_t, const OPENSSL_INIT_SETTINGS *))                                                   \
  F(TLS_client_method, const SSL_METHOD *, (void))                                                                      \
  F(SSL_CTX_new, SSL_CTX *, (const SSL_METHOD *))                                                                       \
  F(SSL_CTX_free, void, (SSL_CTX *))                                                                                    \
  F(SSL_CTX_ctrl, long, (SSL_CTX *, int, long, void *))                                                                 \
  F(SSL_CTX_set_options, uint64_t, (SSL_CTX *, uint64_t))                                                               \
  F(SSL_CTX_set_default_verify_paths, int, (SSL_CTX *))                                                                 \
  F(SSL_CTX_load_verify_locations, int, (SSL_CTX *, const char *, const char *))                                        \
  F(SSL_CTX_set_verify, void, (SSL_CTX *, int, verify_callback *))                                                      \
  F(SSL_new, SSL *, (SSL_CTX *))                                                                                        \
  F(SSL_free, void, (SSL *))                                                                                            \
  F(SSL_ctrl, long, (SSL *, int, long, void *))                                                                         \
  F(SSL_set1_host, int, (SSL *, const char *))                                                                          \
  F(SSL_get0_param, X509_VERIFY_PARAM *, (SSL *))                                                                       \
  F(SSL_set_bio, void, (SSL *, BIO *, BIO *))                                                                           \
  F(SSL_set_ex_data, int, (SSL *, int, void *))                                                                         \
  F(SSL_get_ex_data, void *, (const SSL *, int))                                                                        \
  F(SSL_get_ex_data_X509_STORE_CTX_idx, int, (void))                                                                    \
  F(SSL_connect, int, (SSL *))                                                                                          \
  F(SSL_read_ex, int, (SSL *, void *, size_t, size_t *))                                                                \
  F(SSL_write_ex, int, (SSL *, const void *, size_t, size_t *))                                                         \
  F(SSL_shutdown, int, (SSL *))                                                                                         \
  F(SSL_get_error, int, (const SSL *, int))                                                                             \
  F(BIO_new, BIO *, (const BIO_METHOD *))                                                                               \
  F(BIO_s_mem, const BIO_METHOD *, (void))                                                                              \
  F(BIO_free, int, (BIO *))                                                                                             \
  F(BIO_read_ex, int, (BIO *, void *, size_t, size_t *))                                                                \
  F(BIO_write_ex, int, (BIO *, const void *, size_t, size_t *))                                                         \
  F(X509_VERIFY_PARAM_set1_ip_asc, int, (X509_VERIFY_PARAM *, const char *))                                            \
  F(X509_STORE_CTX_get_ex_data, void *, (const X509_STORE_CTX *, int))                                                  \
  F(X509_STORE_CTX_get_error, int, (const X509_STORE_CTX *))                                                            \
  F(X509_STORE_CTX_get_current_cert, X509 *, (const X509_STORE_CTX *))                                                  \
  F(X509_get0_notBefore, const ASN1_TIME *, (const X509 *))                                                             \
  F(X509_get0_notAfter, const ASN1_TIME *, (const X509 *))                                                              \
  F(ASN1_TIME_to_tm, int, (const ASN1_TIME *, struct tm *))                                                             \
  F(ERR_clear_error, void, (void))                                                                                      \
  F(ERR_peek_error, unsigned long, (void))                                                                              \
  F(ERR_reason_error_string, const char *, (unsigned long))                                                             \
  F(X509_verify_cert_error_string, const char *, (long))

static struct {
#define MEMBER(name, result, arguments) result(*name) arguments;
  FUNCTIONS(MEMBER)
} library;

static bool load(void) {
  // The library stays open, because its functions may be called as long as the program runs. libssl loads libcrypto
  // too, where dlsym(3) finds the functions that libssl itself does not have.
#define NAME(name, result, arguments) #name "\0"
  if (!clinux_load_functions("libssl.so.3", FUNCTIONS(NAME), &library)) return false;
  // The library's exit handler would free what a thread with a connection still uses.
  return library.OPENSSL_init_ssl(INIT_WITHOUT_EXIT_HANDLER, NULL) == 1;
}

bool ctls_is_available(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_loaded;
  pthread_mutex_lock(&lock);
  // A missing library may be installed later, so each call looks for it again.
  if (!is_loaded) is_loaded = load();
  bool result = is_loaded;
  pthread_mutex_unlock(&lock);
  return result;
}

struct ctls {
  SSL_CTX *context;
  SSL *connection;
  /// The encrypted bytes from and to the peer. They belong to the connection.
  BIO *input, *output;
  enum ctls_fault fault;
  char date[16];
};

static _Thread_local char last_reason[128];

/// Keeps the library's reason for a failure. Its texts are constants, so a peer cannot choose them.
static void keep_reason(void) {
  const char *text = library.ERR_reason_error_string(library.ERR_peek_error());
  snprintf(last_reason, sizeof last_reason, "%s", text ? text : "");
}

const char *ctls_reason(void) { return last_reason; }

static enum ctls_fault fault_of(int error) {
  switch (error) {
  case FAULT_NOT_YET_VALID: return CTLS_NOT_YET_VALID;
  case FAULT_EXPIRED: return CTLS_EXPIRED;
  case FAULT_HOST_NAME:
  case FAULT_IP_ADDRESS: return CTLS_OTHER_NAME;
  case FAULT_SELF_SIGNED: return CTLS_SELF_SIGNED;
  case FAULT_NO_ISSUER:
  case FAULT_SELF_SIGNED_IN_CHAIN:
  case FAULT_NO_LOCAL_ISSUER:
  case FAULT_UNVERIFIED_LEAF: return CTLS_UNKNOWN_AUTHORITY;
  default: return CTLS_OTHER_FAULT;
  }
}

/// Keeps the first fault of a certificate, and leaves the library's verdict unchanged.
static int verify(int is_valid, X509_STORE_CTX *store) {
  if (is_valid) return is_valid;
  SSL *connection = library.X509_STORE_CTX_get_ex_data(store, library.SSL_get_ex_data_X509_STORE_CTX_idx());
  struct ctls *self = connection ? library.SSL_get_ex_data(connection, 0) : NULL;
  if (!self || self->fault != CTLS_NO_FAULT) return is_valid;
  int error = library.X509_STORE_CTX_get_error(store);
  self->fault = fault_of(error);
  snprintf(last_reason, sizeof last_reason, "%s", library.X509_verify_cert_error_string(error));
  X509 *certificate = library.X509_STORE_CTX_get_current_cert(store);
  if (!certificate || (self->fault != CTLS_NOT_YET_VALID && self->fault != CTLS_EXPIRED)) return is_valid;
  const ASN1_TIME *limit = self->fault == CTLS_EXPIRED ? library.X509_get0_notAfter(certificate)
                                                       : library.X509_get0_notBefore(certificate);
  struct tm utc;
  if (library.ASN1_TIME_to_tm(limit, &utc) == 1) strftime(self->date, sizeof self->date, "%Y-%m-%d", &utc);
  return is_valid;
}

static bool set_up(struct ctls *self, const char *host, const char *ca_file) {
  self->context = library.SSL_CTX_new(library.TLS_client_method());
  if (!self->context) return false;
  library.SSL_CTX_ctrl(self->context, CTRL_LOWEST_VERSION, TLS_1_2, NULL);
  library.SSL_CTX_set_options(self->context, NO_RENEGOTIATION);
  library.SSL_CTX_set_verify(self->context, VERIFY_PEER, verify);
  int has_authorities = ca_file ? library.SSL_CTX_load_verify_locations(self->context, ca_file, NULL)
                                : library.SSL_CTX_set_default_verify_paths(self->context);
  if (has_authorities != 1) return false;
  self->connection = library.SSL_new(self->context);
  if (!self->connection) return false;
  self->input = library.BIO_new(library.BIO_s_mem());
  self->output = library.BIO_new(library.BIO_s_mem());
  if (!self->input || !self->output) {
    if (self->input) library.BIO_free(self->input);
    if (self->output) library.BIO_free(self->output);
    return false;
  }
  library.SSL_set_bio(self->connection, self->input, self->output);
  if (library.SSL_set_ex_data(self->connection, 0, self) != 1) return false;
  // A certificate lists addresses separately from names, and a client never sends an address as the server's name.
  if (library.X509_VERIFY_PARAM_set1_ip_asc(library.SSL_get0_param(self->connection), host) == 1) return true;
  return library.SSL_set1_host(self->connection, host) == 1 &&
         library.SSL_ctrl(self->connection, CTRL_SERVER_NAME, HOST_NAME, (void *)host) == 1;
}

struct ctls *ctls_new(const char *host, const char *ca_file) {
  library.ERR_clear_error();
  struct ctls *self = calloc(1, sizeof *self);
  if (self && set_up(self, host, ca_file)) return self;
  keep_reason();
  if (self) ctls_free(self);
  return NULL;
}

void ctls_free(struct ctls *self) {
  if (self->connection) library.SSL_free(self->connection);
  if (self->context) library.SSL_CTX_free(self->context);
  free(self);
}

bool ctls_put(struct ctls *self, const void *bytes, size_t count) {
  size_t written = 0;
  return library.BIO_write_ex(self->input, bytes, count, &written) == 1 && written == count;
}

size_t ctls_take(struct ctls *self, void *bytes, size_t count) {
  size_t taken = 0;
  return library.BIO_read_ex(self->output, bytes, count, &taken) == 1 ? taken : 0;
}

int ctls_handshake(struct ctls *self) {
  last_reason[0] = 0;
  library.ERR_clear_error();
  int result = library.SSL_connect(self->connection);
  if (result == 1) return 1;
  if (library.SSL_get_error(self->connection, result) == ERROR_WANT_READ) return 0;
  if (self->fault == CTLS_NO_FAULT) keep_reason();
  return -1;
}

bool ctls_write(struct ctls *self, const void *bytes, size_t count) {
  size_t written = 0;
  library.ERR_clear_error();
  return library.SSL_write_ex(self->connection, bytes, count, &written) == 1 && written == count;
}

ptrdiff_t ctls_read(struct ctls *self, void *bytes, size_t count) {
  size_t taken = 0;
  library.ERR_clear_error();
  int result = library.SSL_read_ex(self->connection, bytes, count, &taken);
  if (result == 1) return (ptrdiff_t)taken;
  switch (library.SSL_get_error(self->connection, result)) {
  case ERROR_WANT_READ: return 0;
  case ERROR_ZERO_RETURN: return -1;
  default: return -2;
  }
}

void ctls_close(struct ctls *self) {
  library.ERR_clear_error();
  library.SSL_shutdown(self->connection);
}

enum ctls_fault ctls_certificate_fault(const struct ctls *self) { return self->fault; }
const char *ctls_certificate_date(const struct ctls *self) { return self->date; }
