// A magnetometer (LIS3MDL at 0x1C) on an I2C bus: a library that is loaded before libc, and that answers for the file that the
// environment names. The chip stops acknowledging as soon as that file has a neighbour with the suffix `.gone`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { address = 0x1C, whoAmI = 0x0F, status = 0x27, output = 0x28, advancing = 0x80 };

static uint8_t registers[128];
static uint8_t selected;

static int isBus(int fd) {
  const char *path = getenv("CHIP_BUS");
  struct stat bus, file;
  return path && stat(path, &bus) == 0 && fstat(fd, &file) == 0 && bus.st_dev == file.st_dev && bus.st_ino == file.st_ino;
}

static int isGone(void) {
  char path[512];
  snprintf(path, sizeof path, "%s.gone", getenv("CHIP_BUS"));
  return access(path, F_OK) == 0;
}

// A field of 20, 0 and 45 microtesla, with noise, at 68.42 units per microtesla.
static void measure(void) {
  const int field[3] = {1368, 0, 3079};
  for (int axis = 0; axis < 3; axis++) {
    const int value = field[axis] + rand() % 41 - 20;
    registers[output + 2 * axis] = value & 0xFF;
    registers[output + 2 * axis + 1] = value >> 8 & 0xFF;
  }
  registers[status] = 0x0F;
}

static uint8_t next(uint8_t reg) { return reg & advancing ? advancing | ((reg + 1) & 0x7F) : reg; }

static int transfer(const struct i2c_rdwr_ioctl_data *data) {
  for (uint32_t index = 0; index < data->nmsgs; index++) {
    const struct i2c_msg *message = &data->msgs[index];
    if (isGone() || message->addr != address) {
      errno = ENXIO;
      return -1;
    }
    registers[whoAmI] = 0x3D;
    uint8_t reg = selected;
    for (int byte = 0; byte < message->len; byte++) {
      if (message->flags & I2C_M_RD) {
        if ((reg & 0x7F) == status) measure();
        message->buf[byte] = registers[reg & 0x7F];
        reg = next(reg);
      } else if (byte == 0) {
        selected = reg = message->buf[0];
      } else {
        registers[reg & 0x7F] = message->buf[byte];
        reg = next(reg);
      }
    }
  }
  return (int)data->nmsgs;
}

int ioctl(int fd, unsigned long request, ...) {
  static int (*real)(int, unsigned long, ...);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "ioctl");
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if ((request != I2C_FUNCS && request != I2C_RDWR) || !isBus(fd)) return real(fd, request, argument);
  if (request == I2C_RDWR) return transfer(argument);
  *(unsigned long *)argument = I2C_FUNC_I2C;
  return 0;
}
