/* A control that responds to delay before loss as the kernel's tcp_congestion_ops: include it below `increase` and
 * `remaining`. RTT samples count during recovery too.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#define MEMORY struct delays
#include "memory.h"

SEC("struct_ops/sampled")
void sampled(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	const struct ack_sample *sample = (const struct ack_sample *)arguments[1];
	int rtt = sample->rtt_us;

	if (rtt > 0) {
		struct delays delays = REMEMBERED(tp);

		measured(&delays, rtt);
		REMEMBERED(tp) = delays;
	}
}

SEC("struct_ops/avoid")
void avoid(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct delays delays = REMEMBERED(tp);
	struct walk walk = {};
	struct outcome outcome;

	gather(&walk, tp);
	outcome = acknowledged(&delays, increase(&walk.group), tp->tcp_mstamp,
			       BITS_OF(&tp->inet_conn, icsk_ca_state) > TCP_CA_DISORDER, random_number(),
			       window_was_used(tp), least(tp->snd_cwnd, MAX_WINDOW),
			       STATE(tp)->credit & (CREDIT_ONE - 1), tp->snd_ssthresh, arguments[2]);
	set_window(tp, outcome.window);
	tp->snd_ssthresh = outcome.ssthresh;
	REMEMBERED(tp) = delays;
}

SEC("struct_ops/threshold")
__u32 threshold(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct delays delays = REMEMBERED(tp);
	struct walk walk = {};

	gather(&walk, tp);
	lost(&delays);
	REMEMBERED(tp) = delays;
	STATE(tp)->credit = 0;
	return remaining(&walk.group);
}

SEC("struct_ops/undo")
__u32 undo(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct delays delays = REMEMBERED(tp);

	found(&delays);
	REMEMBERED(tp) = delays;
	return window_before(tp);
}

#define TAKES_SAMPLES
#include "table.h"
