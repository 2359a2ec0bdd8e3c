/* A plain loop that waits for a GPU, to check `swtch ai gpu` against: the same work, the same three ways of waiting, and nothing else.
 *
 *     cc -O2 -o gpu_loop gpu_loop.c -lcuda && ./gpu_loop block 1000000 2
 *
 * Prints the median and the 99th percentile of launch and wait, in nanoseconds, and CPUs by getrusage(2).
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char *const kernel =
	".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry work(.param .u64 ns) {\n"
	".reg .u64 %now, %end, %length;\n.reg .pred %more;\nld.param.u64 %length, [ns];\nmov.u64 %end, %globaltimer;\n"
	"add.u64 %end, %end, %length;\nagain: mov.u64 %now, %globaltimer;\nsetp.lt.u64 %more, %now, %end;\n@%more bra again;\nret;\n}\n";

static void must(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "%s: %d\n", what, result);
		exit(1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static double cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return 1e9 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e3 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static int by_length(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

int main(int count, char **words)
{
	unsigned flags = count < 4 ? 0 : !strcmp(words[1], "spin") ? CU_CTX_SCHED_SPIN :
			 !strcmp(words[1], "yield") ? CU_CTX_SCHED_YIELD : CU_CTX_SCHED_BLOCKING_SYNC;
	uint64_t work_ns = count < 4 ? 0 : strtoull(words[2], NULL, 10), begin, done = 0, *lengths;
	double used;
	void *arguments[] = { &work_ns };
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;

	if (count < 4)
		return fprintf(stderr, "usage: gpu_loop spin|yield|block NS SECONDS\n"), 2;
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxSetFlags(device, flags), "flags");
	must(cuDevicePrimaryCtxRetain(&context, device), "context");
	must(cuCtxSetCurrent(context), "current");
	must(cuModuleLoadData(&module, kernel), "module");
	must(cuModuleGetFunction(&function, module, "work"), "function");
	lengths = calloc(1 << 20, sizeof(*lengths));
	for (int warm = 1; warm >= 0; warm--) {
		uint64_t until = now_ns() + (warm ? 200000000ull : strtoull(words[3], NULL, 10) * 1000000000ull);

		for (done = 0, used = cpu_ns(), begin = now_ns(); now_ns() < until && done < 1 << 20; done++) {
			uint64_t one = now_ns();

			must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0), "launch");
			must(cuStreamSynchronize(0), "wait");
			lengths[done] = now_ns() - one;
		}
	}
	used = (cpu_ns() - used) / (now_ns() - begin);
	qsort(lengths, done, sizeof(*lengths), by_length);
	printf("%s %llu p50 %llu p99 %llu cpus %.2f\n", words[1], (unsigned long long)work_ns, (unsigned long long)lengths[done / 2],
	       (unsigned long long)lengths[done * 99 / 100], used);
	return 0;
}
