/* Loaded into the host's process that is a guest (LD_PRELOAD). The guest's kernel takes all its randomness from the host's
 * getrandom(), which becomes a stream that GUEST_SEED decides. The process is pinned to GUEST_CORE, for a guest that
 * changes cores takes several times as long; it ends with the thread that began it, and leaves no core dump. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>

static uint64_t state;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	const struct rlimit none = { 0, 0 };
	cpu_set_t cores;

	state = number("GUEST_SEED", 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	if (getenv("GUEST_CORE")) {
		CPU_ZERO(&cores);
		CPU_SET(number("GUEST_CORE", 0), &cores);
		sched_setaffinity(0, sizeof(cores), &cores);
	}
}

/* SplitMix64: Steele, Lea and Flood 2014, figure 15. */
static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	size_t done = 0;

	(void)flags;
	while (done < length) {
		uint64_t value = next();
		size_t part = length - done < sizeof(value) ? length - done : sizeof(value);

		memcpy((char *)buffer + done, &value, part);
		done += part;
	}
	return (ssize_t)length;
}
