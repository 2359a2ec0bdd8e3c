/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "swtch/helpers.h"
