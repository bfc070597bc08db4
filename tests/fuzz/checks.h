// What a fuzz target demands of every input: refused with its place, or predicted with numbers.
#pragma once

#include <functional>
#include <string>

#include "hysim/predict.h"
#include "hysim/resources.h"

namespace hysim::fuzz {

/// The bundled documents, made once.
const Resources& bundle();

/// Runs `read`; an InputError must name at least one fault with a message. False when refused.
bool accepted(const std::function<void()>& read);

/// Predicts the first variant without draws and checks the answer: no number that is none, no
/// negative time or memory, leaves that sum to the step, parts that sum to the memory.
void predict_and_check(const Resources& resources, const ScenarioText& scenario);

/// A small job of `model` on `cluster` under `stack` (names of documents), with its `family` of
/// kernels set to `kernel` where one is named.
ScenarioText small_job(const std::string& model, const std::string& cluster,
                       const std::string& stack, const std::string& family = {},
                       const std::string& kernel = {});

}  // namespace hysim::fuzz
