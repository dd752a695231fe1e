/* Loaded into the host's process that is a guest (LD_PRELOAD). The guest's kernel takes all its randomness from the host's
 * getrandom(), which becomes a stream that GUEST_SEED decides. The process is pinned to GUEST_CORE, for a guest that
 * changes cores takes several times as long; it ends with the thread that began it, and leaves no core dump.
 *
 * Its own processes, in which the guest's programs run, end with it too. Left alone, one whose parent is killed just
 * before it asks to be traced (PTRACE_TRACEME) is traced by the process that adopts it, and stands still for ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

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

/* End with the process `parent`, also if that has ended already. A child that shares its memory may call this. */
static void end_with(pid_t parent)
{
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (syscall(SYS_getppid) != parent)
		syscall(SYS_exit_group, 1);
}

struct beginning {
	int (*function)(void *);
	void *argument;
	pid_t parent;
};

static int child(void *of)
{
	struct beginning *own = of;

	end_with(own->parent);
	return own->function(own->argument);
}

int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	int (*real)(int (*)(void *), void *, int, void *, ...) =
		(int (*)(int (*)(void *), void *, int, void *, ...))dlsym(RTLD_NEXT, "clone");
	/* On the child's stack: it may share the rest of the memory, which the parent goes on to use. */
	struct beginning *own = (struct beginning *)(((uintptr_t)stack - sizeof(*own)) & ~(uintptr_t)15);
	pid_t *parent_tid, *child_tid;
	void *tls;
	va_list more;

	va_start(more, argument);
	parent_tid = va_arg(more, pid_t *);
	tls = va_arg(more, void *);
	child_tid = va_arg(more, pid_t *);
	va_end(more);
	if (flags & (CLONE_THREAD | CLONE_PARENT))
		return real(function, stack, flags, argument, parent_tid, tls, child_tid);
	*own = (struct beginning){ function, argument, getpid() };
	return real(child, own, flags, own, parent_tid, tls, child_tid);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	pid_t parent = getpid(), pid = real();

	if (pid == 0)
		end_with(parent);
	return pid;
}
