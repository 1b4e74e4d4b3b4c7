// libi2c's SMBus calls, and the ioctls of /dev/i2c-N whose request numbers Swift cannot import.
#pragma once

#include <errno.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include <i2c/smbus.h>

// Each function returns 0, the byte that it read or a count of bytes; or a negative errno.

static inline int ci2c_functions(int fd, unsigned long *functions) {
  return ioctl(fd, I2C_FUNCS, functions) < 0 ? -errno : 0;
}

static inline int ci2c_set_address(int fd, uint16_t address) {
  return ioctl(fd, I2C_SLAVE, (unsigned long)address) < 0 ? -errno : 0;
}

static inline int ci2c_transfer(int fd, struct i2c_msg *messages, uint32_t count) {
  struct i2c_rdwr_ioctl_data data = {.msgs = messages, .nmsgs = count};
  return ioctl(fd, I2C_RDWR, &data) < 0 ? -errno : 0;
}

static inline int ci2c_read_byte(int fd) {
  int value = i2c_smbus_read_byte(fd);
  return value < 0 ? -errno : value;
}

static inline int ci2c_write_byte(int fd, uint8_t value) {
  return i2c_smbus_write_byte(fd, value) < 0 ? -errno : 0;
}

static inline int ci2c_read_byte_data(int fd, uint8_t reg) {
  int value = i2c_smbus_read_byte_data(fd, reg);
  return value < 0 ? -errno : value;
}

static inline int ci2c_write_byte_data(int fd, uint8_t reg, uint8_t value) {
  return i2c_smbus_write_byte_data(fd, reg, value) < 0 ? -errno : 0;
}

static inline int ci2c_read_block(int fd, uint8_t reg, uint8_t length, uint8_t *values) {
  int count = i2c_smbus_read_i2c_block_data(fd, reg, length, values);
  return count < 0 ? -errno : count;
}

static inline int ci2c_write_block(int fd, uint8_t reg, uint8_t length, const uint8_t *values) {
  return i2c_smbus_write_i2c_block_data(fd, reg, length, values) < 0 ? -errno : 0;
}

static const unsigned long ci2c_func_i2c = I2C_FUNC_I2C;
static const unsigned long ci2c_func_read_block = I2C_FUNC_SMBUS_READ_I2C_BLOCK;
static const uint16_t ci2c_message_read = I2C_M_RD;
