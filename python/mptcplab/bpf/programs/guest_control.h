/* Behind a program in a guest's kernel: its table as the kernel's own, which is registered when the kernel starts.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#undef tcp_congestion_ops
#define ADDRESS(pointer) ((__u64)(unsigned long)(pointer))

static void OWN(begin)(struct sock *sk)
{
	__u64 arguments[] = { ADDRESS(sk) };

	control.init(arguments);
}

static void OWN(acknowledge)(struct sock *sk, u32 ack, u32 acked)
{
	__u64 arguments[] = { ADDRESS(sk), ack, acked };

	control.cong_avoid(arguments);
}

static void OWN(sample)(struct sock *sk, const struct ack_sample *sample)
{
	__u64 arguments[] = { ADDRESS(sk), ADDRESS(sample) };

	control.pkts_acked(arguments);
}

static u32 OWN(lower)(struct sock *sk)
{
	__u64 arguments[] = { ADDRESS(sk) };

	return control.ssthresh(arguments);
}

static u32 OWN(restore)(struct sock *sk)
{
	__u64 arguments[] = { ADDRESS(sk) };

	return control.undo_cwnd(arguments);
}

static struct tcp_congestion_ops OWN(operations) = {
	.init = OWN(begin),
	.cong_avoid = OWN(acknowledge),
	.ssthresh = OWN(lower),
	.undo_cwnd = OWN(restore),
	.owner = THIS_MODULE,
	.name = NAME,
};

static int __init OWN(enter)(void)
{
	OWN(operations).flags = control.flags;
	if (control.pkts_acked)
		OWN(operations).pkts_acked = OWN(sample);
	return tcp_register_congestion_control(&OWN(operations));
}
late_initcall(OWN(enter));

#undef NAME
#undef CONTROL
#define tcp_congestion_ops program_ops
