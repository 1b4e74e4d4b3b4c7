// What the program was built from.
#pragma once

/// The commit, as `git describe --always --dirty` names it; empty where whoever built it did not say.
const char *cbuild_commit(void);
