/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "mppert"
#include "mppert.h"
#include "early.h"
