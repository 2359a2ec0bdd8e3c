/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Marks pieces of a program's work, such as requests, for `swtch why`. This file is all that a program in C or C++ needs:
 *
 *	#include <swtch_span.h>
 *
 *	void checkout(const char *order)
 *	{
 *		SWTCH_SPAN("checkout", order);	// until the block ends
 *		...
 *	}
 *
 * `swtch_span_begin` and `swtch_span_end` do the same where a block does not fit. A span belongs to the thread that ends it.
 *
 * Spans are recorded where the environment variable SWTCH_SPANS names a file when the program starts: `swtch record -- COMMAND` sets it.
 * Without it a span costs two comparisons. With it, spans are kept in memory. They are appended to the file when 32 KiB are full, when
 * another span ends a second later, and by exit(). A process that ends by a signal or by _exit() loses those of its last second.
 *
 * Format: the `spans` event of docs/workload-contract.md. Needs GCC or Clang, and clock_gettime(), so -std=gnu99 or later, or _GNU_SOURCE.
 * A signal handler must not mark spans.
 */
#ifndef SWTCH_SPAN_H
#define SWTCH_SPAN_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A span that has begun. */
struct swtch_span {
	/* What is done: spans of one name are compared with each other. */
	const char *name;
	/* Which one it is, such as a request's number; may be NULL. */
	const char *id;
	/* CLOCK_MONOTONIC; 0 where spans are not recorded. */
	uint64_t begin_ns;
};

/* Names that end in an underscore are not for callers. All parts of a program share the weak symbols. */

/* Bytes of a name or an id, escaped. */
#define SWTCH_SPAN_TEXT_ 256
/* More than the longest line. */
#define SWTCH_SPAN_LINE_ 1024

struct swtch_span_writer_ {
	/* NULL: spans are not recorded. */
	const char *path;
	/* The process that has the lock, or 0. */
	pid_t lock;
	/* The process whose spans `text` has. */
	pid_t pid;
	uint64_t oldest_ns;
	size_t length;
	char text[1 << 15];
};

__attribute__((weak)) struct swtch_span_writer_ swtch_span_writer_;

static inline uint64_t swtch_span_now_(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((weak)) void swtch_span_lock_(pid_t pid)
{
	pid_t holder = 0;

	/* Another process's number: the parent had the lock when it forked, and no thread here will ever give it back. */
	while (!__atomic_compare_exchange_n(&swtch_span_writer_.lock, &holder, pid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (holder == pid) {
			sched_yield();
			holder = 0;
		}
	}
	if (swtch_span_writer_.pid != pid) {
		/* What the parent kept is the parent's to write. */
		swtch_span_writer_.length = 0;
		swtch_span_writer_.pid = pid;
	}
}

static inline void swtch_span_unlock_(void)
{
	__atomic_store_n(&swtch_span_writer_.lock, 0, __ATOMIC_RELEASE);
}

/* Appends what is kept to the file: one write, so that lines of several programs stay whole. The lock is held. */
__attribute__((weak)) void swtch_span_flush_(void)
{
	const char *path = swtch_span_writer_.path;
	ssize_t written = -1;
	int file, before = errno;

	if (!path || !swtch_span_writer_.length)
		return;
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (file >= 0) {
		written = write(file, swtch_span_writer_.text, swtch_span_writer_.length);
		close(file);
	}
	/* A full disk must not end the program whose work is measured. */
	if (written != (ssize_t)swtch_span_writer_.length)
		__atomic_store_n(&swtch_span_writer_.path, (const char *)NULL, __ATOMIC_RELAXED);
	swtch_span_writer_.length = 0;
	errno = before;
}

/* A text as in JSON; one that is too long is cut. */
__attribute__((weak)) void swtch_span_escape_(const char *text, char *escaped)
{
	char *end = escaped + SWTCH_SPAN_TEXT_ - 7;

	for (; *text && escaped < end; text++) {
		unsigned char sign = (unsigned char)*text;

		if (sign < 0x20) {
			escaped += snprintf(escaped, 7, "\\u%04x", sign);
			continue;
		}
		if (sign == '"' || sign == '\\')
			*escaped++ = '\\';
		*escaped++ = *text;
	}
	*escaped = 0;
}

__attribute__((weak)) void swtch_span_keep_(const struct swtch_span *span, uint64_t end_ns)
{
	struct swtch_span_writer_ *writer = &swtch_span_writer_;
	char name[SWTCH_SPAN_TEXT_], id[SWTCH_SPAN_TEXT_];
	pid_t pid = getpid();
	int length;

	swtch_span_escape_(span->name, name);
	swtch_span_escape_(span->id ? span->id : "", id);
	swtch_span_lock_(pid);
	if (!writer->length)
		writer->oldest_ns = end_ns;
	length = snprintf(writer->text + writer->length, SWTCH_SPAN_LINE_,
			  "{\"event\":\"spans\",\"name\":\"%s\",\"pid\":%d,\"tid\":%ld,\"begin_ns\":[%llu],\"end_ns\":[%llu]%s%s%s}\n", name,
			  (int)pid, (long)syscall(SYS_gettid), (unsigned long long)span->begin_ns, (unsigned long long)end_ns,
			  span->id ? ",\"id\":[\"" : "", id, span->id ? "\"]" : "");
	if (length > 0 && length < SWTCH_SPAN_LINE_)
		writer->length += (size_t)length;
	if (writer->length > sizeof(writer->text) - SWTCH_SPAN_LINE_ || end_ns - writer->oldest_ns >= 1000000000)
		swtch_span_flush_();
	swtch_span_unlock_();
}

__attribute__((constructor)) static void swtch_span_start_(void)
{
	const char *path = getenv("SWTCH_SPANS");

	swtch_span_writer_.path = path && *path ? path : NULL;
}

__attribute__((destructor)) static void swtch_span_finish_(void)
{
	if (!swtch_span_writer_.path)
		return;
	swtch_span_lock_(getpid());
	swtch_span_flush_();
	swtch_span_unlock_();
}

/* Begins a span. `name` and `id` must exist until it ends; `id` may be NULL. */
static inline struct swtch_span swtch_span_begin(const char *name, const char *id)
{
	struct swtch_span span = { name, id, 0 };

	if (__builtin_expect(__atomic_load_n(&swtch_span_writer_.path, __ATOMIC_RELAXED) != NULL, 0))
		span.begin_ns = swtch_span_now_();
	return span;
}

/* Ends a span; the second time it does nothing. */
static inline void swtch_span_end(struct swtch_span *span)
{
	if (__builtin_expect(span->begin_ns != 0, 0)) {
		swtch_span_keep_(span, swtch_span_now_());
		span->begin_ns = 0;
	}
}

#define SWTCH_SPAN_NAMED_(line) swtch_span_of_line_##line
#define SWTCH_SPAN_AT_(line, name, id) \
	__attribute__((cleanup(swtch_span_end))) struct swtch_span SWTCH_SPAN_NAMED_(line) = swtch_span_begin(name, id)

/* A span from here to the end of the block. */
#define SWTCH_SPAN(name, id) SWTCH_SPAN_AT_(__LINE__, name, id)

#ifdef __cplusplus
}
#endif

#endif
