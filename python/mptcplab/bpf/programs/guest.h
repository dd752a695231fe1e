/* What the programs need where they are compiled into a guest's kernel instead of loaded into a running one: the kernel's
 * own headers in place of kernel.h. Everything else is the text that clang compiles for BPF.
 *
 * All controls of a guest are one object. What each has of its own has its name before it, which is CONTROL.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#ifndef MPTCPLAB_GUEST_H
#define MPTCPLAB_GUEST_H

#include <linux/inet_diag.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <net/netlink.h>
#include <net/tcp.h>
#include "protocol.h"

#define SEC(name) static __maybe_unused
#define TCP_CA_DISORDER TCP_CA_Disorder
#define READABLE(type, pointer) ((const struct type *)(pointer))
#define BITS_OF(object, field) ((object)->field)
#define PLACE_OF(object, field) offsetof(typeof(*(object)), field)
#define random_number get_random_u32

#define PASTED(control, name) control##_##name
#define NAMED(control, name) PASTED(control, name)
#define OWN(name) NAMED(CONTROL, name)
#define start OWN(start)
#define avoid OWN(avoid)
#define sampled OWN(sampled)
#define threshold OWN(threshold)
#define undo OWN(undo)
#define control OWN(control)
#define increase OWN(increase)
#define remaining OWN(remaining)
#define remembered OWN(remembered)
#define LICENSE OWN(LICENSE)
/* The kernel has one of this name. */
#define path subflow_path
/* What the kernel calls as the programs have it; guest_control.h makes the kernel's own of it. */
#define tcp_congestion_ops program_ops

struct program_ops {
	__u32 (*ssthresh)(__u64 *);
	void (*cong_avoid)(__u64 *);
	__u32 (*undo_cwnd)(__u64 *);
	void (*pkts_acked)(__u64 *);
	char name[16];
	__u32 flags;
	void (*init)(__u64 *);
};

#endif
