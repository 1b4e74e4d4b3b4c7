#include "CBuild.h"

#ifndef SENSORHUB_COMMIT
#define SENSORHUB_COMMIT ""
#endif

const char *cbuild_commit(void) { return SENSORHUB_COMMIT; }
