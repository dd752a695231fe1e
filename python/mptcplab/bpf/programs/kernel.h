/* The few kernel types that the programs read, by name: their places are those of the running kernel (CO-RE).
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#ifndef MPTCPLAB_KERNEL_H
#define MPTCPLAB_KERNEL_H

#ifndef __bpf__
#include "guest.h"
#else

typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))

enum { TCP_ESTABLISHED = 1, TCP_CLOSE_WAIT = 8 };
enum { TCP_CA_DISORDER = 1 }; /* icsk_ca_state: up to this nothing is being repaired */
enum { TCP_CONG_NON_RESTRICTED = 1 }; /* any program may choose it */

struct list_head {
	struct list_head *next;
} RELOCATED;

struct sock_common {
	volatile unsigned char skc_state;
} RELOCATED;

struct sock {
	struct sock_common __sk_common;
} RELOCATED;

struct tcp_congestion_ops;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	void *icsk_ulp_data;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
} RELOCATED;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 srtt_us;
	__u32 max_packets_out;
	__u32 prior_cwnd;
	__u32 packets_out, sacked_out, lost_out, retrans_out;
	__u64 tcp_mstamp; /* microseconds */
	__u64 bytes_acked;
	__u8 is_cwnd_limited : 1;
	bool is_mptcp;
} RELOCATED;

struct mptcp_subflow_context {
	struct list_head node;
	struct sock *tcp_sock;
	struct sock *conn;
} RELOCATED;

struct mptcp_sock {
	struct list_head conn_list;
} RELOCATED;

/* What an acknowledgment said. */
struct ack_sample {
	int rtt_us; /* below 0: no sample */
} RELOCATED;

/* What the kernel calls; a program gets its arguments as an array. Members that stay away keep the kernel's defaults. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(__u64 *);
	void (*cong_avoid)(__u64 *);
	__u32 (*undo_cwnd)(__u64 *);
	void (*pkts_acked)(__u64 *);
	char name[16];
	__u32 flags;
	void (*init)(__u64 *);
};

/* A pointer that may be read as the type of this number; faults read as zero. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __attribute__((section(".ksyms")));

#define READABLE(type, pointer) \
	((const struct type *)bpf_rdonly_cast(pointer, __builtin_btf_type_id(*(struct type *)0, 1)))

/* Bytes before a field. */
#define PLACE_OF(object, field) __builtin_preserve_field_info((object)->field, 0)

/* The value of a field of bits, wherever this kernel has it. */
#define BITS_OF(object, field)                                                                       \
	({                                                                                           \
		const char *at = (const char *)(object) + PLACE_OF(object, field);                   \
		__u64 bits = 0;                                                                      \
                                                                                                     \
		switch (__builtin_preserve_field_info((object)->field, 1)) {                         \
		case 1: bits = *(const unsigned char *)at; break;                                    \
		case 2: bits = *(const unsigned short *)at; break;                                   \
		case 4: bits = *(const unsigned int *)at; break;                                     \
		case 8: bits = *(const unsigned long long *)at; break;                               \
		}                                                                                    \
		bits <<= __builtin_preserve_field_info((object)->field, 4);                          \
		bits >> __builtin_preserve_field_info((object)->field, 5);                           \
	})

static unsigned int (*const random_number)(void) = (void *)7;

#endif
#endif
