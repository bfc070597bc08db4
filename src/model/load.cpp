// Loads a named model, or a local config.json, from resources.
#include "config/named.h"
#include "model/transformer.h"

namespace hysim::model {

Transformer load_transformer(const Resources& resources, std::string_view name) {
  const config::NamedDocument document =
      config::load_named(resources, "models", "model", name, "`hysim list models` shows all");
  return parse_transformer(document.text, document.path, document.name);
}

}  // namespace hysim::model
