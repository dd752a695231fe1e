/* wVegas as the kernel's tcp_congestion_ops.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#define NAME "wvegas"
#include "wvegas.h"
#define MEMORY struct rounds
#include "memory.h"

SEC("struct_ops/sampled")
void sampled(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	const struct ack_sample *sample = (const struct ack_sample *)arguments[1];
	struct rounds rounds = REMEMBERED(tp);

	sampled_rtt(&rounds, sample->rtt_us);
	REMEMBERED(tp) = rounds;
}

SEC("struct_ops/avoid")
void avoid(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	__u64 out = tp->sacked_out + tp->lost_out, network = tp->packets_out + tp->retrans_out;
	struct rounds rounds = REMEMBERED(tp);
	struct walk walk = {};
	struct outcome outcome;

	gather(&walk, tp);
	outcome = round_acknowledged(&rounds, &walk.group, least(tp->snd_cwnd, MAX_WINDOW),
				     STATE(tp)->credit & (CREDIT_ONE - 1), tp->snd_ssthresh, arguments[2],
				     BITS_OF(&tp->inet_conn, icsk_ca_state) > TCP_CA_DISORDER,
				     network > out ? network - out : 0);
	if (window_was_used(tp)) {
		set_window(tp, outcome.window);
		tp->snd_ssthresh = outcome.ssthresh;
	}
	REMEMBERED(tp) = rounds;
}

SEC("struct_ops/threshold")
__u32 threshold(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct walk walk = {};

	gather(&walk, tp);
	REMEMBERED(tp).measuring = 0;
	STATE(tp)->credit = 0;
	return remaining(&walk.group);
}

SEC("struct_ops/undo")
__u32 undo(__u64 *arguments)
{
	return window_before((struct tcp_sock *)arguments[0]);
}

#define TAKES_SAMPLES
#include "table.h"
