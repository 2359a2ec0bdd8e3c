/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the arena's library prints for its developers is not kept. */
#ifndef SWTCH_BPF_HELPERS_LOCAL_H
#define SWTCH_BPF_HELPERS_LOCAL_H

#include "../../swtch/helpers.h"

#define scx_out(fmt, args...) ((void)0)
#define scx_err(fmt, args...) ((void)0)
#define scx_out_loc(fmt, args...) ((void)0)
#define scx_err_loc(fmt, args...) ((void)0)

#endif
