#include "CGPIOD.h"

#include <dirent.h>
#include <errno.h>
#include <gpiod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  maximum_edges = 16,  // The kernel queues this number of edges for a line.
  maximum_label = 64,  // The kernel's labels have at most 32 bytes.
};

static int last_error(void) { return errno ? -errno : -EIO; }

// Writes the label of the chip at a path. Returns false and sets errno on failure.
static bool chip_label(const char *path, char *label, int size);

static bool chip_matches(const char *path, const char *wanted) {
  char label[maximum_label];
  return chip_label(path, label, sizeof label) && strcmp(label, wanted) == 0;
}

static int is_chip(const struct dirent *entry) { return strncmp(entry->d_name, "gpiochip", 8) == 0; }

int cgpiod_list_chips(char *list, int size) {
  struct dirent **entries = NULL;
  int count = scandir("/dev", &entries, is_chip, alphasort);
  if (count < 0) return last_error();
  int used = 0;
  list[0] = 0;
  for (int index = 0; index < count; index++) {
    char path[300], label[maximum_label];
    snprintf(path, sizeof path, "/dev/%s", entries[index]->d_name);
    if (used < size && chip_label(path, label, sizeof label)) {
      used += snprintf(list + used, size - used, "%s%s (%s)", used ? ", " : "", entries[index]->d_name, label);
    }
    free(entries[index]);
  }
  free(entries);
  return 0;
}

int cgpiod_find_chip(const char *chip, char *path, int path_size) {
  if (chip[0] == '/') {
    if (access(chip, F_OK) != 0) return last_error();
    snprintf(path, path_size, "%s", chip);
    return 0;
  }
  DIR *directory = opendir("/dev");
  if (!directory) return last_error();
  int result = -ENODEV;
  struct dirent *entry;
  while (result < 0 && (entry = readdir(directory))) {
    if (strncmp(entry->d_name, "gpiochip", 8) != 0) continue;
    char candidate[300];
    snprintf(candidate, sizeof candidate, "/dev/%s", entry->d_name);
    if (strcmp(entry->d_name, chip) == 0 || chip_matches(candidate, chip)) {
      snprintf(path, path_size, "%s", candidate);
      result = 0;
    } else if (errno == EACCES) {
      result = -EACCES;
      break;
    }
  }
  closedir(directory);
  return result;
}

#ifdef GPIOD_LINE_BULK_MAX_LINES  // libgpiod 1.x

struct cgpiod_line {
  struct gpiod_chip *chip;
  struct gpiod_line *line;
};

int cgpiod_library_version(void) { return 1; }

static bool chip_label(const char *path, char *label, int size) {
  errno = 0;
  struct gpiod_chip *chip = gpiod_chip_open(path);
  if (!chip) return false;
  snprintf(label, size, "%s", gpiod_chip_label(chip));
  gpiod_chip_close(chip);
  errno = 0;
  return true;
}

int cgpiod_find_line(const char *chip_path, const char *name) {
  struct gpiod_chip *chip = gpiod_chip_open(chip_path);
  if (!chip) return last_error();
  struct gpiod_line *line = gpiod_chip_find_line(chip, name);
  int offset = line ? (int)gpiod_line_offset(line) : -ENOENT;
  gpiod_chip_close(chip);
  return offset;
}

static int open_line(const char *chip_path, unsigned offset, const struct gpiod_line_request_config *config, int value,
                     struct cgpiod_line **result) {
  struct cgpiod_line *line = calloc(1, sizeof *line);
  if (!line) return -ENOMEM;
  errno = 0;
  line->chip = gpiod_chip_open(chip_path);
  if (line->chip) line->line = gpiod_chip_get_line(line->chip, offset);
  if (!line->line || gpiod_line_request(line->line, config, value) < 0) {
    int error = last_error();
    cgpiod_close(line);
    return error;
  }
  *result = line;
  return 0;
}

int cgpiod_open_output(const char *chip_path, unsigned offset, bool active_low, bool value, const char *consumer,
                       struct cgpiod_line **line) {
  struct gpiod_line_request_config config = {
      .consumer = consumer,
      .request_type = GPIOD_LINE_REQUEST_DIRECTION_OUTPUT,
      .flags = active_low ? GPIOD_LINE_REQUEST_FLAG_ACTIVE_LOW : 0,
  };
  return open_line(chip_path, offset, &config, value, line);
}

int cgpiod_open_edges(const char *chip_path, unsigned offset, bool rising, bool falling, const char *consumer,
                      struct cgpiod_line **line) {
  struct gpiod_line_request_config config = {
      .consumer = consumer,
      .request_type = rising && falling ? GPIOD_LINE_REQUEST_EVENT_BOTH_EDGES
                      : rising          ? GPIOD_LINE_REQUEST_EVENT_RISING_EDGE
                                        : GPIOD_LINE_REQUEST_EVENT_FALLING_EDGE,
  };
  return open_line(chip_path, offset, &config, 0, line);
}

int cgpiod_set(struct cgpiod_line *line, bool value) {
  return gpiod_line_set_direction_output(line->line, value) < 0 ? last_error() : 0;
}

int cgpiod_get(struct cgpiod_line *line) {
  int value = gpiod_line_get_value(line->line);
  return value < 0 ? last_error() : value;
}

int cgpiod_descriptor(struct cgpiod_line *line) {
  int fd = gpiod_line_event_get_fd(line->line);
  return fd < 0 ? last_error() : fd;
}

int cgpiod_read_edges(struct cgpiod_line *line, struct cgpiod_edge *edges, int capacity) {
  struct gpiod_line_event events[maximum_edges];
  if (capacity > maximum_edges) capacity = maximum_edges;
  int count = gpiod_line_event_read_multiple(line->line, events, capacity);
  if (count < 0) return last_error();
  for (int i = 0; i < count; i++) {
    edges[i].timestamp_ns = (int64_t)events[i].ts.tv_sec * 1000000000 + events[i].ts.tv_nsec;
    edges[i].rising = events[i].event_type == GPIOD_LINE_EVENT_RISING_EDGE;
    edges[i].sequence = 0;
  }
  return count;
}

void cgpiod_close(struct cgpiod_line *line) {
  if (!line) return;
  if (line->chip) gpiod_chip_close(line->chip);  // This also releases the lines of the chip.
  free(line);
}

#else  // libgpiod 2.x

struct cgpiod_line {
  struct gpiod_line_request *request;
  struct gpiod_edge_event_buffer *buffer;
  unsigned offset;
  bool active_low;
};

int cgpiod_library_version(void) { return 2; }

static bool chip_label(const char *path, char *label, int size) {
  errno = 0;
  struct gpiod_chip *chip = gpiod_chip_open(path);
  if (!chip) return false;
  struct gpiod_chip_info *info = gpiod_chip_get_info(chip);
  if (info) snprintf(label, size, "%s", gpiod_chip_info_get_label(info));
  gpiod_chip_info_free(info);
  gpiod_chip_close(chip);
  errno = 0;
  return info != NULL;
}

int cgpiod_find_line(const char *chip_path, const char *name) {
  struct gpiod_chip *chip = gpiod_chip_open(chip_path);
  if (!chip) return last_error();
  int offset = gpiod_chip_get_line_offset_from_name(chip, name);
  if (offset < 0) offset = last_error();
  gpiod_chip_close(chip);
  return offset;
}

static int open_line(const char *chip_path, unsigned offset, struct gpiod_line_settings *settings, const char *consumer,
                     struct cgpiod_line **result) {
  struct cgpiod_line *line = calloc(1, sizeof *line);
  struct gpiod_line_config *lines = gpiod_line_config_new();
  struct gpiod_request_config *request = gpiod_request_config_new();
  struct gpiod_chip *chip = NULL;
  int error = -ENOMEM;
  if (line && settings && lines && request) {
    errno = 0;
    gpiod_request_config_set_consumer(request, consumer);
    line->offset = offset;
    chip = gpiod_chip_open(chip_path);
    if (chip && gpiod_line_config_add_line_settings(lines, &offset, 1, settings) == 0) {
      line->request = gpiod_chip_request_lines(chip, request, lines);
    }
    error = line->request ? 0 : last_error();
  }
  if (chip) gpiod_chip_close(chip);
  gpiod_request_config_free(request);
  gpiod_line_config_free(lines);
  gpiod_line_settings_free(settings);
  if (error) {
    free(line);
  } else {
    *result = line;
  }
  return error;
}

static struct gpiod_line_settings *output_settings(bool active_low, bool value) {
  struct gpiod_line_settings *settings = gpiod_line_settings_new();
  if (!settings) return NULL;
  gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_OUTPUT);
  gpiod_line_settings_set_active_low(settings, active_low);
  gpiod_line_settings_set_output_value(settings, value ? GPIOD_LINE_VALUE_ACTIVE : GPIOD_LINE_VALUE_INACTIVE);
  return settings;
}

int cgpiod_open_output(const char *chip_path, unsigned offset, bool active_low, bool value, const char *consumer,
                       struct cgpiod_line **line) {
  struct gpiod_line_settings *settings = output_settings(active_low, value);
  if (!settings) return -ENOMEM;
  int error = open_line(chip_path, offset, settings, consumer, line);
  if (!error) (*line)->active_low = active_low;
  return error;
}

int cgpiod_open_edges(const char *chip_path, unsigned offset, bool rising, bool falling, const char *consumer,
                      struct cgpiod_line **line) {
  struct gpiod_line_settings *settings = gpiod_line_settings_new();
  if (!settings) return -ENOMEM;
  gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_INPUT);
  gpiod_line_settings_set_edge_detection(settings, rising && falling ? GPIOD_LINE_EDGE_BOTH
                                                   : rising          ? GPIOD_LINE_EDGE_RISING
                                                                     : GPIOD_LINE_EDGE_FALLING);
  gpiod_line_settings_set_event_clock(settings, GPIOD_LINE_CLOCK_MONOTONIC);
  int error = open_line(chip_path, offset, settings, consumer, line);
  if (error) return error;
  (*line)->buffer = gpiod_edge_event_buffer_new(maximum_edges);
  if (!(*line)->buffer) {
    cgpiod_close(*line);
    *line = NULL;
    return -ENOMEM;
  }
  return 0;
}

int cgpiod_set(struct cgpiod_line *line, bool value) {
  struct gpiod_line_settings *settings = output_settings(line->active_low, value);
  struct gpiod_line_config *config = gpiod_line_config_new();
  int error = -ENOMEM;
  if (settings && config) {
    errno = 0;
    bool is_set = gpiod_line_config_add_line_settings(config, &line->offset, 1, settings) == 0 &&
                  gpiod_line_request_reconfigure_lines(line->request, config) == 0;
    error = is_set ? 0 : last_error();
  }
  gpiod_line_config_free(config);
  gpiod_line_settings_free(settings);
  return error;
}

int cgpiod_get(struct cgpiod_line *line) {
  enum gpiod_line_value value = gpiod_line_request_get_value(line->request, line->offset);
  if (value == GPIOD_LINE_VALUE_ERROR) return last_error();
  return value == GPIOD_LINE_VALUE_ACTIVE;
}

int cgpiod_descriptor(struct cgpiod_line *line) { return gpiod_line_request_get_fd(line->request); }

int cgpiod_read_edges(struct cgpiod_line *line, struct cgpiod_edge *edges, int capacity) {
  if (capacity > maximum_edges) capacity = maximum_edges;
  int count = gpiod_line_request_read_edge_events(line->request, line->buffer, capacity);
  if (count < 0) return last_error();
  for (int i = 0; i < count; i++) {
    struct gpiod_edge_event *event = gpiod_edge_event_buffer_get_event(line->buffer, i);
    edges[i].timestamp_ns = (int64_t)gpiod_edge_event_get_timestamp_ns(event);
    edges[i].rising = gpiod_edge_event_get_event_type(event) == GPIOD_EDGE_EVENT_RISING_EDGE;
    edges[i].sequence = gpiod_edge_event_get_line_seqno(event);
  }
  return count;
}

void cgpiod_close(struct cgpiod_line *line) {
  if (!line) return;
  gpiod_edge_event_buffer_free(line->buffer);
  gpiod_line_request_release(line->request);
  free(line);
}

#endif
