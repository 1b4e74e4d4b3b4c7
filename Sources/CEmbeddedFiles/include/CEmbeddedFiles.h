// The files of Outputs that are compiled into the program. The package manager would turn them into Swift code that
// lists their bytes, which takes the compiler 20 seconds in each kind of build.
#pragma once

#include <stddef.h>

/// The bytes of a file. They are never released.
struct embedded_file {
  const unsigned char *bytes;
  size_t count;
};

struct embedded_file embedded_dashboard_html(void);
struct embedded_file embedded_dashboard_css(void);
struct embedded_file embedded_wall_css(void);
struct embedded_file embedded_dashboard_js(void);
struct embedded_file embedded_words_js(void);
struct embedded_file embedded_settings_js(void);
struct embedded_file embedded_map_js(void);
struct embedded_file embedded_camera_js(void);
struct embedded_file embedded_pmtiles_js(void);
struct embedded_file embedded_pictures_js(void);
struct embedded_file embedded_trend_js(void);
struct embedded_file embedded_anchor_js(void);
struct embedded_file embedded_fleet_html(void);
struct embedded_file embedded_fleet_css(void);
struct embedded_file embedded_fleet_js(void);
struct embedded_file embedded_openapi_yaml(void);
struct embedded_file embedded_grafana_json(void);
