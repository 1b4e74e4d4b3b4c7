// The source that the program was built from.
#pragma once

/// The commit in the form of `git describe --always --dirty`; empty if the build did not state it.
const char *cbuild_commit(void);
