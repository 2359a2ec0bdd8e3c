// Programs that advice is about, with and without the remedy. Both do the same work.
// remedies queue ITEMS BATCH THREADS WORK: a producer hands items to threads, BATCH at a time.
// remedies pair ITEMS BATCH WORK CPUS: two threads take turns, BATCH items each time, pinned to one CPU (1) or to two (2).
// remedies spin THREADS ROUNDS WORK: threads divide the work of each round and spin until all of them are done.
// remedies pause|yield|block THREADS ROUNDS WORK: the same with a loop that tells the CPU that it waits, by sched_yield, or asleep.
// remedies threads THREADS WORK: threads divide the work among themselves.
// remedies convoy THREADS ROUNDS WORK: threads take one lock in turn, and work while they hold it.
// remedies timer WORK: works whenever a timer of 0.1 ms comes, until it is killed.
// Prints the CPU time of the process, ns.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local volatile unsigned sink;
static long work, batch;

static void spin(long steps)
{
	unsigned x = sink;
	for (long i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
	sink = x;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static long queued, ended;

static void *consumer(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (queued == 0 && !ended) pthread_cond_wait(&filled, &lock);
		if (queued == 0) { pthread_mutex_unlock(&lock); return NULL; }
		long taken = queued < batch ? queued : batch;
		queued -= taken;
		if (queued == 0) pthread_cond_signal(&emptied);
		pthread_mutex_unlock(&lock);
		for (long i = 0; i < taken; i++) spin(work);
	}
}

static void queue(long items, int threads)
{
	pthread_t ids[64];
	for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, consumer, NULL);
	for (long made = 0; made < items; made += batch) {
		pthread_mutex_lock(&lock);
		while (queued > 0) pthread_cond_wait(&emptied, &lock);
		queued += batch;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	ended = 1;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
}

static int turn, apart;
static long rounds;

static void *player(void *which)
{
	int me = (int)(long)which;
	cpu_set_t all, own;
	if (apart) {
		sched_getaffinity(0, sizeof all, &all);
		int wanted = apart == 2 ? me : 0;
		CPU_ZERO(&own);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &all) && wanted-- == 0) CPU_SET(cpu, &own);
		sched_setaffinity(0, sizeof own, &own);
	}
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me) pthread_cond_wait(me ? &filled : &emptied, &lock);
		pthread_mutex_unlock(&lock);
		for (long item = 0; item < batch; item++) spin(work);
		pthread_mutex_lock(&lock);
		turn = !me;
		pthread_cond_signal(me ? &emptied : &filled);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int members;
static atomic_long arrived;
static pthread_barrier_t meeting;

static void wait_by_pause(long round)
{
	while (atomic_load(&arrived) < round * members)
#ifdef __x86_64__
		__builtin_ia32_pause();
#else
		__asm__ volatile("yield");
#endif
}

static void wait_by_yield(long round)
{
	while (atomic_load(&arrived) < round * members) sched_yield();
}

static void *meeter(void *how)
{
	for (long round = 1; round <= rounds; round++) {
		spin(work / members);
		if ((long)how == 'b') {
			pthread_barrier_wait(&meeting);
			continue;
		}
		atomic_fetch_add(&arrived, 1);
		if ((long)how == 'p') wait_by_pause(round);
		else wait_by_yield(round);
	}
	return NULL;
}

static void *spinner(void *unused)
{
	(void)unused;
	for (long round = 1; round <= rounds; round++) {
		spin(work / members);
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < round * members) { }
	}
	return NULL;
}

static void *worker(void *steps)
{
	spin((long)steps);
	return NULL;
}

static void *convoy(void *unused)
{
	(void)unused;
	for (long round = 0; round < rounds; round++) {
		pthread_mutex_lock(&lock);
		spin(work);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void timer(void)
{
	struct timespec period = {0, 100000};
	for (;;) {
		nanosleep(&period, NULL);
		spin(work);
	}
}

static void together(void *(*what)(void *), int threads, long argument, int numbered)
{
	pthread_t ids[64];
	for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, what, (void *)(numbered ? (long)i : argument));
	for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
}

int main(int count, char **words)
{
	long given[6] = {0};
	if (count < 3) return 2;
	for (int i = 2; i < count && i < 8; i++) given[i - 2] = atol(words[i]);
	if (!strcmp(words[1], "queue")) {
		batch = given[1]; work = given[3];
		queue(given[0], (int)given[2]);
	} else if (!strcmp(words[1], "pair")) {
		batch = given[1]; work = given[2]; apart = (int)given[3];
		rounds = given[0] / batch / 2;
		together(player, 2, 0, 1);
	} else if (!strcmp(words[1], "spin")) {
		members = (int)given[0]; rounds = given[1]; work = given[2];
		together(spinner, members, 0, 1);
	} else if (!strcmp(words[1], "pause") || !strcmp(words[1], "yield") || !strcmp(words[1], "block")) {
		members = (int)given[0]; rounds = given[1]; work = given[2];
		pthread_barrier_init(&meeting, NULL, members);
		together(meeter, members, words[1][0], 0);
	} else if (!strcmp(words[1], "convoy")) {
		rounds = given[1]; work = given[2];
		together(convoy, (int)given[0], 0, 1);
	} else if (!strcmp(words[1], "timer")) {
		work = given[0];
		timer();
	} else if (!strcmp(words[1], "threads")) {
		together(worker, (int)given[0], given[1] / given[0], 0);
	} else return 2;
	struct timespec cpu;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("%lld\n", cpu.tv_sec * 1000000000LL + cpu.tv_nsec);
	return 0;
}
