/* The table of a control's functions, which are above it; with TAKES_SAMPLES also that for RTT samples.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
SEC("license") char LICENSE[] = "Dual MIT/GPL";

SEC(".struct_ops")
struct tcp_congestion_ops control = {
	.init = start,
#ifdef TAKES_SAMPLES
	.pkts_acked = sampled,
#endif
	.cong_avoid = avoid,
	.ssthresh = threshold,
	.undo_cwnd = undo,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};

/* A guest's kernel has all controls in one object. */
#undef TAKES_SAMPLES
#undef MEMORY
