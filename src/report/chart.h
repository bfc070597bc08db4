// Line charts as SVG text, drawn by hand: no script, no font of their own, readable in black and
// white by dashes. Wrong for more than some dozens of lines: the key runs out of the picture.
#pragma once

#include <string>
#include <vector>

namespace hysim::report {

struct ChartPoint {
  std::size_t at = 0;  // index into ChartAxis::labels
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  bool hollow = false;  // set apart, as the chart's note says
};

struct ChartSeries {
  std::string name;  // "" where there is one only
  std::vector<ChartPoint> points;
};

struct Chart {
  std::string title;
  std::string note;  // below the title
  std::string x_title;
  std::string y_title;
  std::vector<std::string> x_labels;  // one a place on the first axis
  std::vector<double> x_values;       // their numbers; empty: evenly spaced words
  std::vector<ChartSeries> series;
};

/// An axis whose largest value is more than this many times its least is logarithmic.
inline constexpr double kLogSpan = 8.0;

/// One SVG document.
std::string render_svg(const Chart& chart);

}  // namespace hysim::report
