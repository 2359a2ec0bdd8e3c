// What `fixtures/traces/stacks.swtch` is a recording of: a producer and a consumer with a queue of one place. cc -O2 -pthread -o server queue.c
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;
static long rounds;

#define AFTER __asm__ volatile("")

__attribute__((noinline)) void queue_push(void)
{
	pthread_mutex_lock(&lock);
	while (full) pthread_cond_wait(&changed, &lock);
	full = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	AFTER;
}

__attribute__((noinline)) void queue_pop(void)
{
	pthread_mutex_lock(&lock);
	while (!full) pthread_cond_wait(&changed, &lock);
	full = 0;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	AFTER;
}

__attribute__((noinline)) void write_log(void)
{
	struct timespec time = {0, 1000000};
	nanosleep(&time, NULL);
	AFTER;
}

static void *consume(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "consumer");
	for (long i = 0; i < rounds; i++) queue_pop();
	return NULL;
}

int main(int count, char **words)
{
	pthread_t thread;
	rounds = count > 1 ? atol(words[1]) : 100;
	pthread_setname_np(pthread_self(), "producer");
	if (pthread_create(&thread, NULL, consume, NULL)) return 1;
	for (long i = 0; i < rounds; i++) {
		queue_push();
		if (i % 20 == 0) write_log();
	}
	return pthread_join(thread, NULL);
}
