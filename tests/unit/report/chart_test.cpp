#include "report/chart.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hysim::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Chart chart_of(std::vector<double> values, std::vector<double> x = {}) {
  Chart chart;
  chart.title = "a title";
  chart.x_title = "x";
  chart.y_title = "y";
  chart.x_values = std::move(x);
  ChartSeries series;
  for (std::size_t i = 0; i < values.size(); ++i) {
    chart.x_labels.push_back("label " + std::to_string(i));
    series.points.push_back({i, values[i], values[i], values[i], false});
  }
  chart.series.push_back(series);
  return chart;
}

/// The numbers of `attribute` over all circles, in order.
std::vector<double> of_circles(const std::string& svg, const std::string& attribute) {
  std::vector<double> numbers;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1)) {
    const std::size_t value = svg.find(" " + attribute + "=\"", at) + attribute.size() + 3;
    numbers.push_back(std::strtod(svg.c_str() + value, nullptr));
  }
  return numbers;
}

TEST(Chart, PlacesValuesInProportion) {
  const std::string svg = render_svg(chart_of({2.0, 4.0, 6.0}));
  const std::vector<double> y = of_circles(svg, "cy");
  ASSERT_EQ(y.size(), 3U);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.2);  // pixels are rounded to tenths
  EXPECT_GT(y[0], y[2]);
  const std::vector<double> x = of_circles(svg, "cx");
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_THAT(svg, Not(HasSubstr("(log)")));
}

TEST(Chart, ASpanOfMoreThanEightIsLogarithmic) {
  const std::string linear = render_svg(chart_of({1.0, 8.0}, {1.0, 8.0}));
  EXPECT_THAT(linear, Not(HasSubstr("(log)")));
  const std::string both = render_svg(chart_of({1.0, 10.0, 100.0}, {1.0, 4.0, 16.0}));
  EXPECT_THAT(both, HasSubstr("x (log)"));
  EXPECT_THAT(both, HasSubstr("y (log)"));
  for (const char* axis : {"cx", "cy"}) {
    const std::vector<double> at = of_circles(both, axis);
    ASSERT_EQ(at.size(), 3U);
    EXPECT_NEAR(at[1] - at[0], at[2] - at[1], 0.2) << axis;
  }
}

TEST(Chart, DrawsALineFromLeftToRight) {
  const std::string svg = render_svg(chart_of({3.0, 1.0, 2.0}, {30.0, 10.0, 20.0}));
  const std::size_t line = svg.find("<polyline points=\"") + 18;
  double last = 0.0;
  const char* text = svg.c_str() + line;
  for (int i = 0; i < 3; ++i) {
    char* end = nullptr;
    const double x = std::strtod(text, &end);
    EXPECT_GT(x, last);
    last = x;
    std::strtod(end + 1, &end);
    text = end;
  }
}

TEST(Chart, EscapesAndKeepsOddInputInThePicture) {
  Chart chart = chart_of({1.0});
  chart.title = "a < b & \"c\" \x1b[31m";
  chart.series[0].name = std::string(500, 'n');
  const std::string svg = render_svg(chart);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot; ?[31m"));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, Not(HasSubstr(std::string(200, 'n'))));
}

TEST(Chart, AnEmptyOneAndZeroesAreDrawn) {
  for (const Chart& chart : {Chart{}, chart_of({0.0, 0.0}), chart_of({5.0, 5.0}, {3.0, 3.0})}) {
    const std::string svg = render_svg(chart);
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(Chart, HollowPointsAreWhite) {
  Chart chart = chart_of({1.0, 2.0});
  EXPECT_THAT(render_svg(chart), Not(HasSubstr("r=\"4\" fill=\"#fff\"")));
  chart.series[0].points[0].hollow = true;
  EXPECT_THAT(render_svg(chart), HasSubstr("r=\"4\" fill=\"#fff\""));
}

}  // namespace
}  // namespace hysim::report
