// One small interface over libgpiod 1.6 and 2.x: a single line, as an output or as a source of edges.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cgpiod_line;

struct cgpiod_edge {
  /// The time of the edge, by CLOCK_MONOTONIC.
  int64_t timestamp_ns;
  bool rising;
  /// The number of the edge on its line, which also counts lost edges; 0 with libgpiod 1.x, which does not number
  /// edges.
  uint64_t sequence;
};

/// Unless stated otherwise, each function returns 0, a value or a count, or a negative errno.

/// Finds the chip with this label, name or path, and writes its path into `path`. A chip given by its path must exist.
int cgpiod_find_chip(const char *chip, char *path, int path_size);

/// Writes the names and labels of the existing chips into `list`: `gpiochip0 (pinctrl-bcm2711), gpiochip1
/// (raspberrypi-exp-gpio)`. Leaves out chips that cannot be opened, and the part of the list that exceeds `size`.
int cgpiod_list_chips(char *list, int size);

/// Finds a line of a chip by its name, and returns its offset.
int cgpiod_find_line(const char *chip_path, const char *name);

int cgpiod_open_output(const char *chip_path, unsigned offset, bool active_low, bool value, const char *consumer,
                       struct cgpiod_line **line);

int cgpiod_open_edges(const char *chip_path, unsigned offset, bool rising, bool falling, const char *consumer,
                      struct cgpiod_line **line);

// Configures the line as an output again, with its new level. A request that only sets the level also succeeds if the
// chip has not taken it: up to Linux 6.12 at least, the kernel drops the errors of chips on a bus (I2C, SPI, USB).
int cgpiod_set(struct cgpiod_line *line, bool value);
int cgpiod_get(struct cgpiod_line *line);

/// Returns the file descriptor for poll(2), which is readable while edges wait.
int cgpiod_descriptor(struct cgpiod_line *line);

/// Reads up to `capacity` waiting edges, at most 16, and returns their number. Blocks while no edge waits.
int cgpiod_read_edges(struct cgpiod_line *line, struct cgpiod_edge *edges, int capacity);

void cgpiod_close(struct cgpiod_line *line);

/// Returns the major version of the libgpiod that this file was compiled against.
int cgpiod_library_version(void);
