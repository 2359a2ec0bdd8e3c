// A loop of a given number of iterations. As a program: a number on each line of standard input, its time in ns on standard output.
// As a library: what a function in Python calls, so that both do the same instructions.
#include <stdio.h>
#include <time.h>

unsigned long loop(unsigned long iterations)
{
	unsigned long value = 1;
	// Each step needs the one before, so that no compiler shortens it.
	for (unsigned long i = 0; i < iterations; i++)
		value = value * 6364136223846793005UL + 1442695040888963407UL;
	return value;
}

static long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(void)
{
	unsigned long iterations, sum = 0;
	while (scanf("%lu", &iterations) == 1) {
		long begin = now_ns();
		sum += loop(iterations);
		printf("%ld %lu\n", now_ns() - begin, sum);
		fflush(stdout);
	}
	return 0;
}
