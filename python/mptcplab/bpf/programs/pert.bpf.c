/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "pert"
#include "pert.h"
#include "early.h"
