/*
 * What an interruption costs the passes through an array after it, by a plain loop: to hold beside `swtch probe` and `swtch measure`.
 *
 *	gcc -O2 -pthread -o passes passes.c
 *	./passes BYTES STRIDE DISPLACED PERIOD_US SECONDS CPU	(as root)
 *
 * A thread of the real-time class interrupts the loop on its CPU. In blocks of 20 ms it touches DISPLACED bytes each time, or nothing, in turns. Printed are
 * the CPU time that a block loses for each interruption, and the difference of the passes' CPU time by how many passes ago the interruption was: means, and
 * medians after the bar.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define AGO 6
#define KEPT 400000
#define BLOCK_NS 20000000

static volatile unsigned char *own, *other;
static size_t displaced;
static long period_us;
static int cpu;
static volatile int touching, done;
static volatile long interruptions;
static double kept[2][AGO + 1][KEPT];

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *interrupter(void *unused)
{
	struct sched_param priority = { .sched_priority = 10 };
	struct timespec pause = { 0, period_us * 1000 };

	pin();
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		perror("SCHED_FIFO");
	while (!done) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		for (size_t i = 0; touching && i < displaced; i += 64)
			other[i]++;
		interruptions++;
	}
	return unused;
}

static int ascending(const void *one, const void *other_one)
{
	double a = *(const double *)one, b = *(const double *)other_one;

	return (a > b) - (a < b);
}

int main(int count, char **words)
{
	double sum[2][AGO + 1] = { 0 }, block_ns[2] = { 0 }, passes[2] = { 0 }, met[2] = { 0 };
	long seen[2][AGO + 1] = { 0 }, blocks = 0;
	size_t bytes, stride;
	uint64_t end_ns;
	pthread_t thread;

	if (count != 7)
		return fprintf(stderr, "passes BYTES STRIDE DISPLACED PERIOD_US SECONDS CPU\n"), 2;
	bytes = strtoul(words[1], NULL, 0);
	stride = strtoul(words[2], NULL, 0);
	displaced = strtoul(words[3], NULL, 0);
	period_us = atol(words[4]);
	cpu = atoi(words[6]);
	pin();
	own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other = mmap(NULL, displaced + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset((void *)own, 1, bytes);
	memset((void *)other, 1, displaced + 1);
	pthread_create(&thread, NULL, interrupter, NULL);
	end_ns = now_ns(CLOCK_MONOTONIC) + atof(words[5]) * 1e9;
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		int with = touching = blocks++ % 2;
		uint64_t began_ns = now_ns(CLOCK_MONOTONIC), first_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), last_ns = first_ns;
		long before = interruptions, last = before, ago = AGO;

		while (now_ns(CLOCK_MONOTONIC) - began_ns < BLOCK_NS) {
			uint64_t cpu_ns;

			for (size_t i = 0; i < bytes; i += stride)
				own[i]++;
			cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
			ago = interruptions != last ? 0 : ago < AGO ? ago + 1 : AGO;
			last = interruptions;
			if (seen[with][ago] < KEPT)
				kept[with][ago][seen[with][ago]] = cpu_ns - last_ns;
			sum[with][ago] += cpu_ns - last_ns;
			seen[with][ago]++;
			last_ns = cpu_ns;
			passes[with]++;
		}
		block_ns[with] += last_ns - first_ns;
		met[with] += interruptions - before;
	}
	done = 1;
	pthread_join(thread, NULL);
	printf("%zu bytes, stride %zu, displaced %zu: a pass %.0f ns; %.0f ns an interruption by blocks; by passes ago:", bytes, stride, displaced,
	       block_ns[0] / passes[0], (block_ns[1] / passes[1] - block_ns[0] / passes[0]) / (met[1] / passes[1]));
	for (int ago = 0; ago <= AGO; ago++) {
		double middle[2] = { 0 };

		for (int with = 0; with < 2; with++) {
			long of = seen[with][ago] < KEPT ? seen[with][ago] : KEPT;

			qsort(kept[with][ago], of, sizeof(double), ascending);
			middle[with] = of ? kept[with][ago][of / 2] : 0;
		}
		printf(" [%d] %.0f|%.0f", ago, sum[1][ago] / seen[1][ago] - sum[0][ago] / seen[0][ago], middle[1] - middle[0]);
	}
	printf("\n");
	return 0;
}
