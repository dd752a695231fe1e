/* A control that answers to losses as the kernel's tcp_congestion_ops: include it below `increase` and `remaining`.
 *
 * Slow start, the reaction to loss and the lone subflow's Reno stand here once.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "subflows.h"

SEC("struct_ops/start")
void start(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct state *state = STATE(tp);

	state->credit = 0;
	state->acked_before = tp->bytes_acked;
	state->between = 0;
}

SEC("struct_ops/avoid")
void avoid(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct state *state = STATE(tp);
	struct walk walk = {};

	if (!window_was_used(tp))
		return;
	gather(&walk, tp);
	set_window(tp, grown(least(tp->snd_cwnd, MAX_WINDOW), state->credit & (CREDIT_ONE - 1), tp->snd_ssthresh,
			     arguments[2], increase(&walk.group)));
}

SEC("struct_ops/threshold")
__u32 threshold(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct state *state = STATE(tp);
	struct walk walk = {};

	gather(&walk, tp);
	state->between = tp->bytes_acked - state->acked_before;
	state->acked_before = tp->bytes_acked;
	state->credit = 0;
	return remaining(&walk.group);
}

SEC("struct_ops/undo")
__u32 undo(__u64 *arguments)
{
	return window_before((struct tcp_sock *)arguments[0]);
}

#include "table.h"
