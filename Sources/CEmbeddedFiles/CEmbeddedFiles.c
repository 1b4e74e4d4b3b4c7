// The pages and descriptions of Outputs, byte by byte. `CEmbeddedFiles.h` says why they are here.
#include "CEmbeddedFiles.h"

#define EMBEDDED(name) \
  struct embedded_file embedded_##name(void) { return (struct embedded_file){name, sizeof name}; }

// Clang has #embed in all versions of C, but it is standard only since C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char dashboard_html[] = {
#embed "../Outputs/HTTP/Dashboard/dashboard.html"
};
EMBEDDED(dashboard_html)

static const unsigned char dashboard_css[] = {
#embed "../Outputs/HTTP/Dashboard/dashboard.css"
};
EMBEDDED(dashboard_css)

static const unsigned char wall_css[] = {
#embed "../Outputs/HTTP/Dashboard/wall.css"
};
EMBEDDED(wall_css)

static const unsigned char dashboard_js[] = {
#embed "../Outputs/HTTP/Dashboard/dashboard.js"
};
EMBEDDED(dashboard_js)

static const unsigned char words_js[] = {
#embed "../Outputs/HTTP/Dashboard/words.js"
};
EMBEDDED(words_js)

static const unsigned char settings_js[] = {
#embed "../Outputs/HTTP/Dashboard/settings.js"
};
EMBEDDED(settings_js)

static const unsigned char map_js[] = {
#embed "../Outputs/HTTP/Dashboard/map.js"
};
EMBEDDED(map_js)

static const unsigned char camera_js[] = {
#embed "../Outputs/HTTP/Dashboard/camera.js"
};
EMBEDDED(camera_js)

static const unsigned char pmtiles_js[] = {
#embed "../Outputs/HTTP/Dashboard/pmtiles.js"
};
EMBEDDED(pmtiles_js)

static const unsigned char pictures_js[] = {
#embed "../Outputs/HTTP/Dashboard/pictures.js"
};
EMBEDDED(pictures_js)

static const unsigned char trend_js[] = {
#embed "../Outputs/HTTP/Dashboard/trend.js"
};
EMBEDDED(trend_js)

static const unsigned char anchor_js[] = {
#embed "../Outputs/HTTP/Dashboard/anchor.js"
};
EMBEDDED(anchor_js)

static const unsigned char fleet_html[] = {
#embed "../Outputs/Fleet/Page/fleet.html"
};
EMBEDDED(fleet_html)

static const unsigned char fleet_css[] = {
#embed "../Outputs/Fleet/Page/fleet.css"
};
EMBEDDED(fleet_css)

static const unsigned char fleet_js[] = {
#embed "../Outputs/Fleet/Page/fleet.js"
};
EMBEDDED(fleet_js)

static const unsigned char openapi_yaml[] = {
#embed "../Outputs/HTTP/openapi.yaml"
};
EMBEDDED(openapi_yaml)

static const unsigned char grafana_json[] = {
#embed "../Outputs/HTTP/grafana.json"
};
EMBEDDED(grafana_json)
