/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "olia"
#include "olia.h"
#include "control.h"
