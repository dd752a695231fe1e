/* What every control reads of the kernel: the subflows of the connection, and whether the window was used.
 *
 * The group is gathered anew for every acknowledgment, by a walk over the connection's subflows. A sibling's state can be
 * read but not written.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#ifndef MPTCPLAB_SUBFLOWS_H
#define MPTCPLAB_SUBFLOWS_H

#include "kernel.h"

/* What icsk_ca_priv begins with. */
struct state {
	__u64 credit;       /* of the next segment, CREDIT_BITS behind the point */
	__u64 acked_before; /* bytes acknowledged when the last loss was found … */
	__u64 between;      /* … and between the last two: of the controls that answer to losses alone */
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
			   (const char *)walk->node - PLACE_OF(context, node));
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
	if (BITS_OF(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The window with its fraction, CREDIT_BITS behind the point. */
INLINE void set_window(struct tcp_sock *tp, long long window)
{
	tp->snd_cwnd = window >> CREDIT_BITS;
	STATE(tp)->credit = window & (CREDIT_ONE - 1);
}

INLINE __u32 window_before(const struct tcp_sock *tp)
{
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

#endif
