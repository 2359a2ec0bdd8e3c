/* A driver without a GPU: a launch is over when its time is over, one after the other, and a thread waits for it as its context says. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned how;
static uint64_t done_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDeviceGetCount(int *count) { return *count = getenv("MADE_UP_DEVICES") ? atoi(getenv("MADE_UP_DEVICES")) : 1, 0; }
int cuDriverGetVersion(int *version) { return *version = 12040, 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetName(char *name, int length, int device) { return strncpy(name, "made-up GPU", length), device; }
int cuGetErrorString(int result, const char **text) { return *text = "made up", result > 0 ? 0 : 1; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { return *context = &how, how = flags, device; }
int cuCtxSetCurrent(void *context) { return context == &how ? 0 : 1; }
int cuCtxDestroy_v2(void *context) { return context == &how ? 0 : 1; }
int cuModuleLoadData(void **module, const char *text) { return *module = &how, strstr(text, ".entry wait") ? 0 : 218; }
int cuModuleGetFunction(void **function, void *module, const char *name) { return *function = module, strcmp(name, "wait"); }
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &how, flags != 1; }

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned wide, unsigned high, unsigned deep, unsigned shared,
		   void *stream, void **parameters, void **extra)
{
	uint64_t begin_ns = now_ns();

	if (!function || !stream || extra || x * y * z * wide * high * deep != 1 || shared)
		return 1;
	done_ns = (done_ns > begin_ns ? done_ns : begin_ns) + *(uint64_t *)parameters[0];
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	struct timespec until = { done_ns / 1000000000, done_ns % 1000000000 };

	if (how == 4)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	while (now_ns() < done_ns)
		if (how == 2)
			sched_yield();
	return stream ? 0 : 1;
}
