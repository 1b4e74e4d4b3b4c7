// The functions that Debian's Swift for arm64 needs from libraries newer than bookworm's (glibc 2.38, libstdc++ 13), so
// that it can be linked for bookworm. .ci/sdk places them next to Swift's own library. Unlike these functions, those of
// C23 also parse 0b101.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
// In older libraries, this header initializes std::cout at the start of the program; newer libraries do it
// themselves.
#include <iostream>

extern "C" {

void _ZSt21ios_base_library_initv() {}

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int count = vsscanf(text, format, arguments);
  va_end(arguments);
  return count;
}

size_t strlcpy(char *target, const char *source, size_t size) {
  size_t length = strlen(source);
  if (size > 0) {
    size_t copied = length < size ? length : size - 1;
    memcpy(target, source, copied);
    target[copied] = 0;
  }
  return length;
}

size_t strlcat(char *target, const char *source, size_t size) {
  size_t used = strnlen(target, size);
  return used + strlcpy(target + used, source, size - used);
}
}
