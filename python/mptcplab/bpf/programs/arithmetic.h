/* The controls' arithmetic: what a window grows by, in integers of 64 bits, without signed or wide division.
 *
 * Pure functions over a group of subflows, so that the same text runs in the kernel and beside the Rust algorithms, which
 * are its yardstick. Windows are in segments with 16 bits behind the point, smoothed RTTs in eighths of a microsecond as
 * the kernel keeps them, increases in segments with 40 bits behind the point (CREDIT).
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#ifndef MPTCPLAB_ARITHMETIC_H
#define MPTCPLAB_ARITHMETIC_H

#define MAX_SUBFLOWS 8 /* the kernel's own limit of a connection */
#define WINDOW_BITS 16
#define CREDIT_BITS 40
#define CREDIT_ONE (1ULL << CREDIT_BITS)
#define MAX_WINDOW (1U << 20) /* segments: keeps every product below within 64 bits */
#define MAX_SRTT (1U << 24)   /* 2.1 s */
#define MAX_ACKED (1U << 12)

/* Calls visit(i, state) for i = 0 … MAX_SUBFLOWS − 1, until it returns 1. In the kernel by the helper of that purpose: the
 * verifier then follows the body once, and not each of the 2⁸ ways through a loop of 8. */
#ifdef __bpf__
static long (*const bpf_loop)(unsigned int times, void *visit, void *state, unsigned long long flags) = (void *)181;
#define EACH(visit, state) bpf_loop(MAX_SUBFLOWS, visit, state, 0)
#else
#define EACH(visit, state)                                   \
	for (unsigned int i = 0; i < MAX_SUBFLOWS; i++)      \
		if (visit(i, state))                         \
			break
#endif

#define INLINE static inline __attribute__((always_inline))

/* One subflow. One that takes no part (not established, no RTT sample, no subflow at all) has a window of 0. */
struct path {
	unsigned long long window;
	unsigned long long between_losses; /* bytes; OLIA's ℓ */
	unsigned int srtt;                 /* 1 … MAX_SRTT */
	unsigned int reserved;
};

/* The places are fixed and `own` is a copy: an index into the group would make the kernel's verifier follow each case. */
struct group {
	struct path path[MAX_SUBFLOWS];
	struct path own; /* the one that the acknowledgment or the loss is about */
	unsigned int count;
	unsigned int reserved;
};

/* What an acknowledgment makes of a subflow. */
struct outcome {
	long long window; /* CREDIT_BITS behind the point */
	unsigned int ssthresh;
};

/* a·b/c for c > 0, or 2⁶² for all that is beyond 2³⁹. */
INLINE unsigned long long scaled(unsigned long long a, unsigned long long b, unsigned long long c)
{
	if (a >= 1ULL << 39)
		return 1ULL << 62;
	return a * b / c;
}

/* Segments in a round trip of srtt: Σ w_i·srtt/rtt_i, as a window. */
INLINE unsigned long long total_at(const struct group *group, unsigned long long srtt)
{
	unsigned long long total = 0;

	for (unsigned int i = 0; i < MAX_SUBFLOWS; i++)
		total += group->path[i].window * srtt / group->path[i].srtt;
	return total ? total : 1;
}

/* w_r/rtt_r² / (Σ w_i/rtt_i)² = w_r / total_at(rtt_r)². */
INLINE unsigned long long coupled_term(const struct group *group, unsigned long long window, unsigned long long srtt)
{
	unsigned long long total = total_at(group, srtt);

	return (((window << 24) / total) << 32) / total;
}

/* 1/(divisor·w). */
INLINE unsigned long long reciprocal(unsigned long long window, unsigned long long divisor)
{
	return (1ULL << (CREDIT_BITS + WINDOW_BITS)) / (window * divisor);
}

/* Whether value_i/rtt_i² is more than value_j/rtt_j². */
INLINE int better(unsigned long long value_i, unsigned int srtt_i, unsigned long long value_j, unsigned int srtt_j)
{
	return scaled(scaled(value_i, srtt_j, srtt_i), srtt_j, srtt_i) > value_j;
}

/* min(max(w_i/rtt_i²)/(Σ w_i/rtt_i)², 1/w_r): what LIA gives a segment, and MPPERT with k = 0. */
INLINE long long share_of_best(const struct group *group)
{
	unsigned long long coupled, alone = reciprocal(group->own.window, 1), window = group->own.window;
	unsigned int srtt = group->own.srtt;

	if (group->count < 2)
		return alone;
	for (unsigned int i = 0; i < MAX_SUBFLOWS; i++)
		if (better(group->path[i].window, group->path[i].srtt, window, srtt)) {
			window = group->path[i].window;
			srtt = group->path[i].srtt;
		}
	/* max(w/rtt²)/(Σ w/rtt)² is the coupled term of the best path. */
	coupled = coupled_term(group, window, srtt);
	return coupled < alone ? coupled : alone;
}

/* Half of the window in whole segments, at least `floor`. */
INLINE unsigned int half(const struct group *group, unsigned int floor)
{
	unsigned int left = group->own.window >> (WINDOW_BITS + 1);

	return left > floor ? left : floor;
}

/* The window after an acknowledgment: cwnd and credit as one number. At least one segment. */
INLINE long long grown(unsigned int cwnd, unsigned long long credit, unsigned int ssthresh, unsigned int acked,
		       long long increase)
{
	long long window = ((long long)cwnd << CREDIT_BITS) + credit;
	long long threshold = (long long)(ssthresh < MAX_WINDOW ? ssthresh : MAX_WINDOW) << CREDIT_BITS;
	long long segments = (long long)(acked < MAX_ACKED ? acked : MAX_ACKED) << CREDIT_BITS;

	if (window < threshold) {
		/* RFC 5681 §3.1 with RFC 3465's byte counting; what goes beyond ssthresh counts for avoidance. */
		long long slow = segments < threshold - window ? segments : threshold - window;

		window += slow;
		segments -= slow;
	}
	/* In two halves: segments·increase would need more than 64 bits. */
	window += (segments >> 20) * (increase >> 10) >> 10;
	if (window < (long long)CREDIT_ONE)
		window = CREDIT_ONE;
	if (window > (long long)MAX_WINDOW << CREDIT_BITS)
		window = (long long)MAX_WINDOW << CREDIT_BITS;
	return window;
}

#endif
