#ifndef CTESTTHREADS_H
#define CTESTTHREADS_H

// Nothing to call: linking CTestThreads.c is sufficient.

#endif
