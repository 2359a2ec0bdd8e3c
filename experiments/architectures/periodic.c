/*
 * Threads that each compute for a while and then sleep until their next period, for a number of seconds.
 *
 *     periodic THREADS WORK PERIOD_US SECONDS
 *
 * WORK is in thousands of turns of a loop, which take longer on a slow CPU. With a period of 0 threads never sleep. Each thread begins a part of
 * a period after the one before. Prints the work that was done, and how many periods were over in time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS 1000000000LL
#define MOST_THREADS 64

static long long period_ns, seconds;
static long threads, work, done, in_time, all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS + time.tv_nsec;
}

static void thousand_turns(void)
{
	int turn;

	for (turn = 0; turn < 1000; turn++)
		__asm__ volatile("");
}

static void *run(void *number)
{
	long long next = now() + period_ns * (long)number / threads, end = next + seconds * NS;
	long turns = 0, early = 0, count = 0, left;

	for (; next < end; next = period_ns ? next + period_ns : now()) {
		struct timespec at = { .tv_sec = next / NS, .tv_nsec = next % NS };

		if (period_ns)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		for (left = work; left > 0 && now() < end; left--) {
			thousand_turns();
			turns++;
		}
		count++;
		early += now() <= next + period_ns;
	}
	pthread_mutex_lock(&lock);
	done += turns;
	in_time += early;
	all += count;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t made[MOST_THREADS];
	long number;

	if (argc != 5 || (threads = atol(argv[1])) < 1 || threads > MOST_THREADS || (work = atol(argv[2])) < 1 ||
	    (period_ns = atoll(argv[3]) * 1000) < 0 || (seconds = atoll(argv[4])) < 1) {
		fprintf(stderr, "usage: periodic THREADS WORK PERIOD_US SECONDS; 1 to %d threads\n", MOST_THREADS);
		return 2;
	}
	for (number = 0; number < threads; number++)
		if (pthread_create(&made[number], NULL, run, (void *)number)) {
			fprintf(stderr, "periodic: no more threads\n");
			return 1;
		}
	for (number = 0; number < threads; number++)
		pthread_join(made[number], NULL);
	printf("%ld thousand turns; %ld of %ld periods in time\n", done, in_time, all);
	return 0;
}
