/* The first process of a guest. The root directory is the host's, read-only; /dev is the guest's own and has what is
 * written: /dev/tmp, and /dev/host, which is the directory that the guest was started in. There is `command` (words that
 * each end with a zero byte) and `environment` (the same), and there `status` is left, as wait(2) tells it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 256

static void leave(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void need(int answer, const char *what)
{
	if (answer == 0)
		return;
	fprintf(stderr, "guest: %s: %s\n", what, strerror(errno));
	leave();
}

/* The words of a file; they stay in memory. */
static char **words(const char *path)
{
	static char *empty[] = { NULL };
	char **found = calloc(WORDS + 1, sizeof(*found));
	FILE *file = fopen(path, "r");
	size_t size = 0;
	int count = 0;

	if (!file || !found)
		return empty;
	while (count < WORDS && getdelim(&found[count], &size, 0, file) > 0) {
		size = 0;
		count++;
	}
	found[count] = NULL;
	fclose(file);
	return found;
}

int main(void)
{
	char **command, **environment;
	int status = -1;
	FILE *file;
	pid_t child;

	need(mount("proc", "/proc", "proc", 0, NULL), "/proc");
	need(mount("sys", "/sys", "sysfs", 0, NULL), "/sys");
	mkdir("/dev/shm", 01777);
	mkdir("/dev/tmp", 01777);
	mkdir("/dev/host", 0700);
	need(mount("none", "/dev/host", "hostfs", 0, "/proc/self/cwd"), "the host's directory");
	command = words("/dev/host/command");
	environment = words("/dev/host/environment");
	need(chdir("/dev/tmp"), "/dev/tmp");
	child = fork();
	if (child == 0) {
		if (command[0])
			execve(command[0], command, environment);
		fprintf(stderr, "guest: %s: %s\n", command[0] ? command[0] : "no command", strerror(errno));
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	file = fopen("/dev/host/status", "w");
	if (file) {
		fprintf(file, "%d\n", status);
		fclose(file);
	}
	leave();
}
