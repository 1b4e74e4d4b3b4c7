#ifndef CTESTTHREADS_H
#define CTESTTHREADS_H

// Nothing to call: what is in CTestThreads.c counts by being linked.

#endif
