/*
 * A client and five services that call each other, the programs of the experiment with swtch check. They are threads with a condition
 * variable (-DTRANSPORT=0), processes with pipes (1), or threads with semaphores and naps (2). Every call is two switches or so. At
 * place INJECT of the code, PINGS calls more are made.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TRANSPORT
#define TRANSPORT 0
#endif
#ifndef INJECT
#define INJECT -1
#endif
#ifndef PINGS
#define PINGS 0
#endif
#ifndef ROUNDS
#define ROUNDS 60
#endif
#ifndef PADDING
#define PADDING 0
#endif

enum { CLIENT, PARSER, STORE, INDEX, CACHE, LOGGER, SERVICES };
enum { PING = 1, WORK, STOP };

static const char *const names[] = { "client", "parser", "store", "index", "cache", "logger" };

/* Caller, callee, and that it calls in every n-th request. A place is a row. */
struct place {
	int caller, callee, every, pings;
	long done;
};

static struct place places[] = {
	{ CLIENT, PARSER, 1 }, { CLIENT, STORE, 1 },  { CLIENT, INDEX, 1 },  { CLIENT, CACHE, 1 },  { CLIENT, LOGGER, 1 },
	{ PARSER, STORE, 2 },  { PARSER, INDEX, 2 },  { PARSER, CACHE, 2 },  { PARSER, LOGGER, 2 }, { STORE, INDEX, 2 },
	{ STORE, CACHE, 2 },   { STORE, LOGGER, 2 },  { INDEX, CACHE, 3 },   { INDEX, LOGGER, 3 },  { CACHE, LOGGER, 3 },
	{ CLIENT, STORE, 3 },  { CLIENT, CACHE, 3 },
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

#if PADDING
/* Changes where everything lies, and nothing else. */
static char padding_data[PADDING] = { 1 };
__attribute__((noinline, used)) static void padding_text(void)
{
	__asm__ volatile(".skip %c0, 0x90" : : "i"(PADDING));
}
#endif

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	sem_t request_is_there, answer_is_there;
	int request_pipe[2], answer_pipe[2];
	int request, answer;
};
static struct mailbox *boxes;

static void exchange_failed(void)
{
	perror("services");
	exit(1);
}

static void serve(int self, int request);

static void call(int callee, int request)
{
	struct mailbox *box = &boxes[callee];
#if TRANSPORT == 1
	char byte = (char)request;
	if (write(box->request_pipe[1], &byte, 1) != 1 || read(box->answer_pipe[0], &byte, 1) != 1)
		exchange_failed();
#elif TRANSPORT == 2
	box->request = request;
	sem_post(&box->request_is_there);
	while (sem_wait(&box->answer_is_there))
		;
#else
	pthread_mutex_lock(&box->lock);
	box->request = request;
	box->answer = 0;
	pthread_cond_broadcast(&box->changed);
	while (!box->answer)
		pthread_cond_wait(&box->changed, &box->lock);
	pthread_mutex_unlock(&box->lock);
#endif
}

static int next_request(int self)
{
	struct mailbox *box = &boxes[self];
#if TRANSPORT == 1
	char byte;
	if (read(box->request_pipe[0], &byte, 1) != 1)
		exchange_failed();
	return byte;
#elif TRANSPORT == 2
	while (sem_wait(&box->request_is_there))
		;
	return box->request;
#else
	pthread_mutex_lock(&box->lock);
	while (!box->request)
		pthread_cond_wait(&box->changed, &box->lock);
	int request = box->request;
	box->request = 0;
	pthread_mutex_unlock(&box->lock);
	return request;
#endif
}

static void answer(int self)
{
	struct mailbox *box = &boxes[self];
#if TRANSPORT == 1
	char byte = 0;
	if (write(box->answer_pipe[1], &byte, 1) != 1)
		exchange_failed();
#elif TRANSPORT == 2
	sem_post(&box->answer_is_there);
#else
	pthread_mutex_lock(&box->lock);
	box->answer = 1;
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->lock);
#endif
}

static volatile long sink;

static void compute(long steps)
{
	long sum = 0;
	for (long i = 0; i < steps; i++)
		sum += i ^ (sum << 1);
	sink += sum;
}

/* The requests of a service, one a time: callees do not call back. */
static long requests_of[SERVICES];
/* How often INJECT's place is reached in a run; from the program itself, run with -DCOUNT. */
#ifndef REACHED
#define REACHED 1
#endif

static void call_others(int self)
{
	long request = requests_of[self]++;
	for (int index = 0; index < PLACES; index++) {
		struct place *place = &places[index];
		if (place->caller != self || request % place->every)
			continue;
		call(place->callee, WORK);
		if (index == INJECT) {
			long before = place->done * PINGS / REACHED, after = (place->done + 1) * PINGS / REACHED;
			for (long ping = before; ping < after; ping++)
				call(place->callee, PING);
		}
		place->done++;
	}
}

static void serve(int self, int request)
{
	if (request != WORK)
		return;
	compute(200 + 300 * self);
#ifdef NOPS
	/* Instructions more, and no work more. */
	__asm__ volatile(".skip %c0, 0x90" : : "i"(NOPS));
#endif
	call_others(self);
#if TRANSPORT == 2
	if (self == LOGGER && requests_of[self] % 16 == 0) {
		struct timespec nap = { 0, 300000 };
		nanosleep(&nap, NULL);
	}
#endif
}

static void *service(void *argument)
{
	int self = (int)(long)argument, request;
	prctl(PR_SET_NAME, names[self]);
	do {
		request = next_request(self);
		serve(self, request);
		answer(self);
	} while (request != STOP);
#ifdef COUNT
	for (int index = 0; index < PLACES; index++)
		if (places[index].caller == self)
			dprintf(1, "%d %ld\n", index, places[index].done);
#endif
	return NULL;
}

int main(void)
{
	pthread_t threads[SERVICES];
	boxes = mmap(NULL, sizeof(*boxes) * SERVICES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_NAME, names[CLIENT]);
	for (long index = 1; index < SERVICES; index++) {
		struct mailbox *box = &boxes[index];
		pthread_mutex_init(&box->lock, NULL);
		pthread_cond_init(&box->changed, NULL);
		sem_init(&box->request_is_there, 0, 0);
		sem_init(&box->answer_is_there, 0, 0);
		if (TRANSPORT == 1 && (pipe(box->request_pipe) || pipe(box->answer_pipe)))
			exchange_failed();
	}
	for (long index = 1; index < SERVICES; index++) {
#if TRANSPORT == 1
		if (fork() == 0) {
			service((void *)index);
			_exit(0);
		}
#else
		if (pthread_create(&threads[index], NULL, service, (void *)index))
			exchange_failed();
#endif
	}
	for (int round = 0; round < ROUNDS; round++) {
		compute(2000);
		call_others(CLIENT);
	}
	for (int index = 1; index < SERVICES; index++) {
		call(index, STOP);
#if TRANSPORT != 1
		pthread_join(threads[index], NULL);
#endif
	}
#ifdef COUNT
	for (int index = 0; index < PLACES; index++)
		if (places[index].caller == CLIENT)
			dprintf(1, "%d %ld\n", index, places[index].done);
#endif
	while (wait(NULL) > 0)
		;
	(void)threads;
	return 0;
}
