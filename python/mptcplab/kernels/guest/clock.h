/* What takes virtual time in a guest besides waiting. User-Mode Linux lets some pass where a program asks for the time or a call
 * of it fails, so that one which waits for the time or for something else to happen goes on: 256 ns, also the clock's resolution
 * (arch/um/kernel/time.c), and 1 us (arch/um/kernel/skas/syscall.c). Packets would leave some 3 us a round trip later than from
 * programs that take no time. It is 1 ns here. A timer would be no nearer than 500 ns. */
#if __has_include(<linux/time-internal.h>) /* not in files of these names that are compiled for the host */
#include <asm/delay.h>
#include <linux/time-internal.h>
#undef TIMER_MULTIPLIER
#define TIMER_MULTIPLIER 1
#undef TIMER_MIN_DELTA
#define TIMER_MIN_DELTA 1
#define um_udelay(us) um_ndelay(us)
#endif
