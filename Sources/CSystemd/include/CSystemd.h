// libsystemd: service notification and the journal.
#pragma once

#include <stdint.h>
#include <sys/uio.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
