#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer as a library: reads its options, calls the target with one input after the other, and ends the process.
/// https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*target)(const uint8_t *data, size_t size));
