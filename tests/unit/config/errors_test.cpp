// Faults in words: what is unknown of the place is left out.
#include "hysim/errors.h"

#include <string>

#include "gtest/gtest.h"

namespace hysim {
namespace {

TEST(DiagnosticText, LeavesOutWhatIsUnknown) {
  EXPECT_EQ((Diagnostic{"f.json", 3, 5, "/a/b", "wrong"}.text()), "f.json:3:5 (/a/b): wrong");
  EXPECT_EQ((Diagnostic{"f.json", 3, 5, "", "wrong"}.text()), "f.json:3:5: wrong");
  EXPECT_EQ((Diagnostic{"f.json", 3, 0, "", "wrong"}.text()), "f.json:3: wrong");
  EXPECT_EQ((Diagnostic{"f.json", 0, 0, "/a", "wrong"}.text()), "f.json (/a): wrong");
  EXPECT_EQ((Diagnostic{"f.json", 0, 0, "", "wrong"}.text()), "f.json: wrong");
  EXPECT_EQ((Diagnostic{"", 3, 5, "/a", "wrong"}.text()), "line 3, column 5 (/a): wrong");
  EXPECT_EQ((Diagnostic{"", 0, 0, "/a", "wrong"}.text()), "(/a): wrong");
  EXPECT_EQ((Diagnostic{"", 0, 0, "", "wrong"}.text()), "wrong");
}

TEST(InputErrorText, HasALineForEachFault) {
  const InputError error({{"f", 1, 2, "", "first"}, {"f", 3, 4, "/x", "second"}});
  EXPECT_STREQ(error.what(), "f:1:2: first\nf:3:4 (/x): second");
  EXPECT_EQ(error.diagnostics().size(), 2U);
  EXPECT_STREQ(InputError({}).what(), "invalid input");
}

}  // namespace
}  // namespace hysim
