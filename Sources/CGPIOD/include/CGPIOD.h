// One small interface over libgpiod 1.6 and 2.x: a single line, as an output or as a source of edges.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cgpiod_line;

struct cgpiod_edge {
  /// CLOCK_MONOTONIC.
  int64_t timestamp_ns;
  bool rising;
  /// Counts the line's edges, lost ones included; 0 where the library (1.x) does not number them.
  uint64_t sequence;
};

/// Every call returns 0 or a count, or a negative errno.

/// Finds the chip with this label, name or path; writes its path into `path`. One named by its path has to be there.
int cgpiod_find_chip(const char *chip, char *path, int path_size);

/// Writes the chips that there are into `list`, by name and label: `gpiochip0 (pinctrl-bcm2711), gpiochip1 (raspberrypi-exp-gpio)`.
/// Those that may not be opened are left out, and what has no room.
int cgpiod_list_chips(char *list, int size);

/// Finds a line by its name on a chip; returns its offset.
int cgpiod_find_line(const char *chip_path, const char *name);

int cgpiod_open_output(const char *chip_path, unsigned offset, bool active_low, bool value, const char *consumer,
                       struct cgpiod_line **line);

int cgpiod_open_edges(const char *chip_path, unsigned offset, bool rising, bool falling, const char *consumer,
                      struct cgpiod_line **line);

int cgpiod_set(struct cgpiod_line *line, bool value);
int cgpiod_get(struct cgpiod_line *line);

/// Readable while edges wait.
int cgpiod_descriptor(struct cgpiod_line *line);

/// Reads up to `capacity` waiting edges; blocks while there are none.
int cgpiod_read_edges(struct cgpiod_line *line, struct cgpiod_edge *edges, int capacity);

void cgpiod_close(struct cgpiod_line *line);

/// The major version of the library that this was compiled against.
int cgpiod_library_version(void);
