/*
 * How much the same work differs: a loop, a message through a pipe and through a socket, two threads made one after the other, and what a
 * child runs from its fork to its own first step. The jitter of simulations comes from it (crates/sim/src/jitter.rs):
 *
 *     cc -O1 -static -pthread -o differences experiments/sched_ext/differences.c
 *     swtch vm --deterministic --cpus 1 -- ./differences
 *
 * It prints medians, and percentiles as differences from them in percent.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 4000
#define LOOP_NS 60000
#define MESSAGE 100
#define CHILDREN 40
#define ROUNDS 40

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static double now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int order(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

static void say(const char *what, double *found, int count)
{
	static const int percentiles[] = {5, 10, 25, 75, 90, 95, 99};

	qsort(found, count, sizeof(*found), order);
	double median = found[count / 2];

	printf("%-24s median %.0f ns", what, median);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
		printf("  p%d %+.2f %%", percentiles[i], 100 * (found[count * percentiles[i] / 100] - median) / fabs(median));
	printf("\n");
}

static void loop(long turns)
{
	for (volatile long turn = 0; turn < turns; turn++)
		;
}

static void message(const int ends[2])
{
	char text[MESSAGE] = {0};

	if (write(ends[1], text, MESSAGE) != MESSAGE || read(ends[0], text, MESSAGE) != MESSAGE)
		exit(1);
}

static void *started(void *at)
{
	*(double *)at = now_ns();
	return NULL;
}

static void loops(void)
{
	double found[TIMES], start;
	long turns = 1000;

	for (double took = 0; took < LOOP_NS; turns += turns / 4) {
		start = now_ns();
		loop(turns);
		took = now_ns() - start;
	}
	for (int i = 0; i < TIMES; i++) {
		start = now_ns();
		loop(turns);
		found[i] = now_ns() - start;
	}
	say("a loop", found, TIMES);
}

static void messages(const char *what, const int ends[2])
{
	double found[TIMES];

	for (int i = 0; i < TIMES; i++) {
		double start = now_ns();

		message(ends);
		found[i] = now_ns() - start;
	}
	say(what, found, TIMES);
}

static void threads(void)
{
	double found[TIMES], at[2];
	pthread_t made[2];

	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < 2; k++)
			if (pthread_create(&made[k], NULL, started, &at[k]))
				exit(1);
		for (int k = 0; k < 2; k++)
			pthread_join(made[k], NULL);
		found[i] = at[1] - at[0];
	}
	say("starts of two threads", found, TIMES);
}

/* Each child waits until all of its round are there, as those of hackbench do. */
static void children(void)
{
	double *found = mmap(NULL, ROUNDS * CHILDREN * sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (found == MAP_FAILED)
		exit(1);
	/* The pages are there before anyone is timed. */
	for (int i = 0; i < ROUNDS * CHILDREN; i++)
		found[i] = 1;
	for (int i = 0; i < ROUNDS * CHILDREN;) {
		int ends[2];

		if (pipe(ends))
			exit(1);
		for (int k = 0; k < CHILDREN; k++, i++) {
			if (fork())
				continue;
			found[i] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
			close(ends[1]);
			_exit(read(ends[0], &(char){0}, 1) != 0);
		}
		close(ends[0]);
		close(ends[1]);
		while (wait(NULL) > 0)
			;
	}
	/* The first round finds memory that nothing has used yet. */
	say("a child's start", found + CHILDREN, (ROUNDS - 1) * CHILDREN);
}

int main(void)
{
	int ends[2];

	loops();
	if (pipe(ends))
		return 1;
	messages("a message by a pipe", ends);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	messages("a message by a socket", ends);
	threads();
	children();
	return 0;
}
