/* Sorting as a workload, by the workload contract (docs/workload-contract.md).
 * cc -O2 -o sort_workload sort_workload.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 100000, SPANS = 1 << 16 };

static int numbers[NUMBERS];
static long long begin_ns[SPANS], end_ns[SPANS];

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void work(void)
{
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = rand();
	qsort(numbers, NUMBERS, sizeof(numbers[0]), by_value);
}

static void write_times(FILE *out, const char *name, const long long *times, long first, long last)
{
	fprintf(out, ",\"%s\":[", name);
	for (long i = first; i < last; i++)
		fprintf(out, "%s%lld", i > first ? "," : "", times[i]);
	fprintf(out, "]");
}

int main(void)
{
	const char *fd = getenv("SWTCH_CONTRACT_FD"), *duration = getenv("SWTCH_CONTRACT_DURATION_S");
	const char *inferences = getenv("SWTCH_CONTRACT_INFERENCES");
	FILE *out = fd ? fdopen(atoi(fd), "w") : stdout;
	long most = inferences && atol(inferences) < SPANS ? atol(inferences) : SPANS;
	char line[16];
	long count = 0;

	if (!out) {
		perror("sort_workload: SWTCH_CONTRACT_FD");
		return 2;
	}
	work();
	fprintf(out, "{\"event\":\"ready\",\"version\":1,\"pid\":%d,\"workload\":\"sort\"}\n", (int)getpid());
	fflush(out);
	if (fd && (!fgets(line, sizeof(line), stdin) || strcmp(line, "go\n") != 0))
		return 1;

	long long deadline_ns = now_ns() + (long long)((duration ? atof(duration) : 10) * 1e9);
	while (count < most) {
		begin_ns[count] = now_ns();
		work();
		end_ns[count] = now_ns();
		if (end_ns[count++] >= deadline_ns)
			break;
	}
	for (long first = 0; first < count; first += 4096) {
		long last = first + 4096 < count ? first + 4096 : count;

		fprintf(out, "{\"event\":\"spans\"");
		write_times(out, "begin_ns", begin_ns, first, last);
		write_times(out, "end_ns", end_ns, first, last);
		fprintf(out, "}\n");
	}
	fprintf(out, "{\"event\":\"metrics\",\"sorts\":%ld}\n", count);
	return fclose(out) ? 1 : 0;
}
