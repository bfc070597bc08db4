#include "hysim/schema.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "hysim/errors.h"

namespace hysim {
namespace {

using testing::HasSubstr;

TEST(Schema, IsFoundByNameAndByTitle) {
  const DocumentSchema schema = document_schema("prediction");
  EXPECT_EQ(schema.name, "prediction");
  EXPECT_EQ(schema.title, "hysim.prediction/1");
  EXPECT_FALSE(schema.description.empty());
  EXPECT_EQ(document_schema("hysim.prediction/1").text, schema.text);
}

TEST(Schema, DefinitionsAreNoDocument) {
  const auto names = schema_names();
  EXPECT_THAT(names, testing::Contains("scenario"));
  EXPECT_THAT(names, testing::Not(testing::Contains("common")));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THROW(document_schema("common"), InputError);
}

/// A comparison holds predictions, which hold a scenario: all of them are in its schema.
TEST(Schema, HoldsWhatItRefersTo) {
  const config::Node schema = config::parse(document_schema("comparison").text, "schema");
  for (const char* definition : {"prediction", "prediction.memory", "scenario", "scenario.kernels",
                                 "common.quantity", "ratio"}) {
    EXPECT_NE(config::find_path(schema, std::string("/$defs/") + definition), nullptr)
        << definition;
  }
  for (const std::string& name : schema_names()) {
    EXPECT_THAT(document_schema(name).text, testing::Not(HasSubstr(".json#"))) << name;
  }
}

TEST(Schema, NamesTheNearest) {
  try {
    document_schema("scenari");
    FAIL() << "there is no such document";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"scenario\"?"));
  }
}

}  // namespace
}  // namespace hysim
