// Backward passes in two parts, for schedules that run weight gradients later than input gradients.
#pragma once

#include "graph/program.h"

namespace hysim::graph {

/// Moves the weight gradients of a backward list behind everything else. They need each other not
/// at all and the rest only as a whole, so they run one after the other from its end on. What
/// waited for one of them waits for what stood before it.
void defer_weight_gradients(TaskList& backward);

/// Operands of the weight gradients of a list: what must stay until they run.
Bytes weight_gradient_operands(const TaskList& backward);

}  // namespace hysim::graph
