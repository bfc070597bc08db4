// Predicts a variant of a bundled scenario with the library alone: consumer SCENARIO VARIANT
#include <cstdio>

#include <hysim/errors.h>
#include <hysim/predict.h>
#include <hysim/prepared.h>
#include <hysim/report.h>
#include <hysim/schema.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const hysim::Resources bundled = hysim::embedded_resources();
    hysim::PredictOptions options;
    options.variant = argv[2];
    const hysim::Prediction prediction =
        hysim::predict(bundled, hysim::load_scenario(bundled, argv[1]), options);
    std::fputs(hysim::to_json(prediction).c_str(), stdout);
    hysim::PreparedPrediction prepared(bundled, hysim::load_scenario(bundled, argv[1]), argv[2]);
    if (prepared.step_time() != prediction.step_time.value) return 1;
    return hysim::schema_names().empty() || !(prediction.step_time.value > hysim::Seconds(0.0));
  } catch (const hysim::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
