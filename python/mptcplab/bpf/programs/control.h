/* A coupled control as the kernel's tcp_congestion_ops: include it below `increase` and `remaining`.
 *
 * Slow start, the reaction to loss and the lone subflow's Reno stand here once; the group is gathered anew for every
 * acknowledgment, by a walk over the connection's subflows. A sibling's state can be read but not written.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "kernel.h"

/* In icsk_ca_priv. */
struct state {
	__u64 credit;       /* of the next segment, CREDIT_BITS behind the point */
	__u64 acked_before; /* bytes acknowledged when the last loss was found */
	__u64 between;      /* bytes acknowledged between the last two losses */
};

#define STATE(tp) ((struct state *)((tp)->inet_conn.icsk_ca_priv))

static __u32 least(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/* With few branches: each would double what the verifier has to follow. */
INLINE void fill(struct path *path, const struct tcp_sock *tp, bool ours)
{
	__u64 window = (__u64)least(tp->snd_cwnd, MAX_WINDOW) << WINDOW_BITS, between = 0;
	__u32 srtt;

	if (ours) {
		const __u64 *state = tp->inet_conn.icsk_ca_priv;
		__u64 since = tp->bytes_acked - state[1];

		window |= (state[0] & (CREDIT_ONE - 1)) >> (CREDIT_BITS - WINDOW_BITS);
		between = since > state[2] ? since : state[2];
	}
	path->window = window | 1; /* never 0: that means no path */
	path->between_losses = between;
	srtt = least(tp->srtt_us, MAX_SRTT);
	path->srtt = srtt | (srtt - 1) >> 31; /* never 0 */
}

struct walk {
	const struct list_head *node, *head;
	const struct tcp_sock *tp;
	struct group group;
};

/* One subflow of the list. */
static long visit(__u32 i, struct walk *walk)
{
	const struct mptcp_subflow_context *context = 0;
	const struct tcp_sock *sibling;
	__u8 state;

	if (!walk->node || walk->node == walk->head)
		return 1;
	/* The list runs through the contexts' field `node`. */
	context = READABLE(mptcp_subflow_context,
			   (const char *)walk->node - __builtin_preserve_field_info(context->node, 0));
	sibling = READABLE(tcp_sock, context->tcp_sock);
	walk->node = context->node.next;
	state = ((const struct sock *)READABLE(sock, context->tcp_sock))->__sk_common.skc_state;
	if (!sibling->srtt_us || (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT))
		return 0;
	fill(&walk->group.path[i & (MAX_SUBFLOWS - 1)], sibling,
	     sibling->inet_conn.icsk_ca_ops == walk->tp->inet_conn.icsk_ca_ops);
	walk->group.count++;
	return 0;
}

/* The subflows of tp's connection that are established and have an RTT sample; tp alone where it is plain TCP. */
INLINE void gather(struct walk *walk, const struct tcp_sock *tp)
{
	fill(&walk->group.own, tp, 1);
	for (__u32 i = 0; i < MAX_SUBFLOWS; i++)
		walk->group.path[i].srtt = 1;
	if (tp->is_mptcp && tp->srtt_us && tp->inet_conn.icsk_ulp_data) {
		const struct mptcp_subflow_context *context = READABLE(mptcp_subflow_context, tp->inet_conn.icsk_ulp_data);
		const struct mptcp_sock *connection = READABLE(mptcp_sock, context->conn);

		walk->tp = tp;
		walk->head = &connection->conn_list;
		walk->node = walk->head->next;
		EACH(visit, walk);
	}
}

/* RFC 7661 in the kernel's form: a window that was not used must not grow. */
INLINE bool window_was_used(const struct tcp_sock *tp)
{
	/* One bit, wherever this kernel has it. */
	const char *at = (const char *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, 0);
	__u64 bits = 0;

	switch (__builtin_preserve_field_info(tp->is_cwnd_limited, 1)) {
	case 1: bits = *(const unsigned char *)at; break;
	case 2: bits = *(const unsigned short *)at; break;
	case 4: bits = *(const unsigned int *)at; break;
	case 8: bits = *(const unsigned long long *)at; break;
	}
	bits <<= __builtin_preserve_field_info(tp->is_cwnd_limited, 4);
	bits >>= __builtin_preserve_field_info(tp->is_cwnd_limited, 5);
	if (bits)
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

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
	long long window;

	if (!window_was_used(tp))
		return;
	gather(&walk, tp);
	window = grown(least(tp->snd_cwnd, MAX_WINDOW), state->credit & (CREDIT_ONE - 1), tp->snd_ssthresh, arguments[2],
		       increase(&walk.group));
	tp->snd_cwnd = window >> CREDIT_BITS;
	state->credit = window & (CREDIT_ONE - 1);
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
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = start,
	.cong_avoid = avoid,
	.ssthresh = threshold,
	.undo_cwnd = undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
