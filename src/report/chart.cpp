#include "report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "report/format.h"
#include "report/table.h"

namespace hysim::report {

namespace {

// The picture, in pixels.
constexpr double kWidth = 900.0;
constexpr double kTop = 78.0;
constexpr double kPlotHeight = 380.0;
constexpr double kLeft = 84.0;
constexpr double kBottom = 64.0;
constexpr double kKeyLine = 20.0;
constexpr double kCharacter = 6.6;  // mean width of one at 12 px

// Okabe and Ito's colors, told apart with any color vision; dashes when they repeat.
constexpr std::array<const char*, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
constexpr std::array<const char*, 4> kDashes = {"", "7 4", "2 4", "9 3 2 3"};

std::string fixed(double value) {
  const auto tenths = static_cast<std::int64_t>(std::llround(value * 10.0));
  return fixed_point(tenths, 1);
}

/// Text between tags or in an attribute.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Maps values of an axis to pixels.
struct Axis {
  double low = 0.0;
  double high = 1.0;
  double from = 0.0;  // pixel of low
  double to = 1.0;    // pixel of high
  bool log = false;

  double at(double value) const {
    const double share =
        log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
};

/// 1, 2 or 5 times a power of ten, about `count` in the span.
std::vector<double> linear_ticks(double high, int count) {
  const double raw = high / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10.0 * power;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (nice * power >= raw * 0.999) {
      step = nice * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= high * 1.0001 + step; ++i) ticks.push_back(i * step);
  while (ticks.size() > 2 && ticks[ticks.size() - 2] >= high) ticks.pop_back();
  return ticks;
}

/// 1, 2 and 5 times powers of ten from at most `low` to at least `high`.
std::vector<double> log_ticks(double low, double high) {
  std::vector<double> all;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high * 10.0;
       power *= 10.0) {
    for (const double nice : {1.0, 2.0, 5.0}) all.push_back(nice * power);
  }
  const double tolerance = 1.0 + 1e-9;
  auto first =
      std::find_if(all.begin(), all.end(), [&](double tick) { return tick > low * tolerance; });
  auto last =
      std::find_if(all.begin(), all.end(), [&](double tick) { return tick * tolerance >= high; });
  if (first != all.begin()) --first;
  return {first, last == all.end() ? last : last + 1};
}

/// The least and the largest of what is drawn.
std::pair<double, double> extent(const Chart& chart) {
  double low = INFINITY;
  double high = 0.0;
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      low = std::min({low, point.low, point.value});
      high = std::max({high, point.high, point.value});
    }
  }
  if (!(high > 0.0)) return {0.0, 1.0};
  return {low, high};
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    place_key();
    place_x();
    place_y();
  }

  std::string svg() {
    open();
    grid();
    for (std::size_t s = 0; s < chart_.series.size(); ++s) band(s);
    for (std::size_t s = 0; s < chart_.series.size(); ++s) line(s);
    key();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  /// The key stands right of the plot, as wide as its longest name.
  void place_key() {
    int longest = 0;
    for (const ChartSeries& series : chart_.series) {
      longest = std::max(longest, display_width(series.name));
    }
    constexpr double kMostKey = 330.0;
    key_width_ = longest == 0 ? 16.0 : std::min(kMostKey, 56.0 + kCharacter * longest);
    right_ = kWidth - key_width_ - 12.0;
    const double key_height = kKeyLine * static_cast<double>(chart_.series.size());
    height_ = std::max(kTop + kPlotHeight + kBottom, kTop + key_height + 24.0);
  }

  void place_x() {
    const std::size_t count = chart_.x_labels.size();
    x_.from = kLeft + 24.0;
    x_.to = right_ - 24.0;
    if (chart_.x_values.size() == count && count > 1) {
      const auto [least, most] =
          std::minmax_element(chart_.x_values.begin(), chart_.x_values.end());
      x_.low = *least;
      x_.high = *most;
      x_.log = x_.low > 0.0 && x_.high > kLogSpan * x_.low;
      numeric_ = x_.high > x_.low;
    }
    if (!numeric_) {
      x_.log = false;
      x_.low = count > 1 ? 0.0 : -1.0;
      x_.high = count > 1 ? static_cast<double>(count - 1) : 1.0;
    }
  }

  void place_y() {
    const auto [low, high] = extent(chart_);
    y_.log = low > 0.0 && high > kLogSpan * low;
    ticks_ = y_.log ? log_ticks(low, high) : linear_ticks(high, 6);
    y_.low = ticks_.front();
    y_.high = ticks_.back();
    y_.from = kTop + kPlotHeight;
    y_.to = kTop;
  }

  double x(std::size_t at) const {
    return x_.at(numeric_ ? chart_.x_values[at] : static_cast<double>(at));
  }

  void text(double x, double y, const std::string& words, const std::string& more = "") {
    out_ += "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\"" + more + ">" + escaped(words) +
            "</text>\n";
  }
  void rule(double x1, double y1, double x2, double y2, const std::string& more) {
    out_ += "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) +
            "\" y2=\"" + fixed(y2) + "\" " + more + "/>\n";
  }

  void open() {
    const std::string size = fixed_point(std::llround(kWidth), 0) + "\" height=\"" +
                             fixed_point(std::llround(height_), 0);
    const std::string box =
        "0 0 " + fixed_point(std::llround(kWidth), 0) + " " + fixed_point(std::llround(height_), 0);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"" + box +
           "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n"
           "<title>" +
           escaped(chart_.title) +
           "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    text(kLeft, 30.0, chart_.title, " font-size=\"17\" font-weight=\"bold\"");
    if (!chart_.note.empty()) text(kLeft, 50.0, chart_.note, " fill=\"#666\"");
  }

  void grid() {
    for (const double tick : ticks_) {
      const double y = y_.at(tick);
      rule(kLeft, y, right_, y,
           tick == ticks_.front() ? "stroke=\"#444\"" : "stroke=\"#ddd\" stroke-width=\"1\"");
      text(kLeft - 8.0, y + 4.0, significant(tick, 3), " text-anchor=\"end\"");
    }
    // Labels that would touch the one before are left out; their ticks stay.
    double free_from = -INFINITY;
    for (const std::size_t i : order_on_x()) {
      const double at = x(i);
      rule(at, y_.from, at, y_.from + 5.0, "stroke=\"#444\"");
      const double half = 0.5 * kCharacter * display_width(chart_.x_labels[i]);
      if (at - half < free_from) continue;
      text(at, y_.from + 20.0, chart_.x_labels[i], " text-anchor=\"middle\"");
      free_from = at + half + 8.0;
    }
    text(0.5 * (kLeft + right_), y_.from + 44.0, chart_.x_title + (x_.log ? " (log)" : ""),
         " text-anchor=\"middle\" font-weight=\"bold\"");
    const double middle = 0.5 * (y_.from + y_.to);
    text(20.0, middle, chart_.y_title + (y_.log ? " (log)" : ""),
         " text-anchor=\"middle\" font-weight=\"bold\" transform=\"rotate(-90 20 " + fixed(middle) +
             ")\"");
  }

  std::vector<std::size_t> order_on_x() const {
    std::vector<std::size_t> order(chart_.x_labels.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return x(a) < x(b); });
    return order;
  }

  static const char* color(std::size_t s) { return kColors[s % kColors.size()]; }
  static std::string dash(std::size_t s) {
    const std::string pattern = kDashes[(s / kColors.size()) % kDashes.size()];
    return pattern.empty() ? "" : " stroke-dasharray=\"" + pattern + "\"";
  }

  std::vector<ChartPoint> left_to_right(std::size_t s) const {
    std::vector<ChartPoint> points = chart_.series[s].points;
    std::stable_sort(points.begin(), points.end(),
                     [&](const ChartPoint& a, const ChartPoint& b) { return x(a.at) < x(b.at); });
    return points;
  }
  std::string pixel(std::size_t at, double value) const {
    return fixed(x(at)) + "," + fixed(y_.at(value));
  }

  /// The range around a line.
  void band(std::size_t s) {
    const std::vector<ChartPoint> points = left_to_right(s);
    if (points.size() < 2) return;
    std::string corners;
    bool wide = false;
    for (const ChartPoint& point : points) {
      corners += (corners.empty() ? "" : " ") + pixel(point.at, point.high);
      wide = wide || point.high > point.low;
    }
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      corners += " " + pixel(point->at, point->low);
    }
    if (!wide) return;
    out_ += "<polygon points=\"" + corners + "\" fill=\"" + color(s) + "\" opacity=\"0.12\"/>\n";
  }

  void line(std::size_t s) {
    const std::vector<ChartPoint> points = left_to_right(s);
    std::string path;
    for (const ChartPoint& point : points) {
      path += (path.empty() ? "" : " ") + pixel(point.at, point.value);
    }
    if (points.size() > 1) {
      out_ += "<polyline points=\"" + path + "\" fill=\"none\" stroke=\"" + color(s) +
              "\" stroke-width=\"2\"" + dash(s) + "/>\n";
    }
    for (const ChartPoint& point : points) {
      if (points.size() == 1 && point.high > point.low) {
        rule(x(point.at), y_.at(point.low), x(point.at), y_.at(point.high),
             std::string("stroke=\"") + color(s) + "\"");
      }
      mark(x(point.at), y_.at(point.value), s, point.hollow);
    }
  }
  void mark(double at_x, double at_y, std::size_t s, bool hollow) {
    out_ += "<circle cx=\"" + fixed(at_x) + "\" cy=\"" + fixed(at_y) + "\" r=\"4\" fill=\"" +
            (hollow ? "#fff" : color(s)) + "\" stroke=\"" + color(s) + "\" stroke-width=\"2\"/>\n";
  }

  void key() {
    if (key_width_ < 56.0) return;
    const int most = static_cast<int>((key_width_ - 50.0) / kCharacter);
    for (std::size_t s = 0; s < chart_.series.size(); ++s) {
      const double y = kTop + 8.0 + kKeyLine * static_cast<double>(s);
      rule(right_ + 16.0, y, right_ + 44.0, y,
           std::string("stroke=\"") + color(s) + "\" stroke-width=\"2\"" + dash(s));
      mark(right_ + 30.0, y, s, false);
      text(right_ + 50.0, y + 4.0, shortened(chart_.series[s].name, most));
    }
  }

  const Chart& chart_;
  std::string out_;
  double key_width_ = 0.0;
  double right_ = 0.0;
  double height_ = 0.0;
  bool numeric_ = false;
  Axis x_;
  Axis y_;
  std::vector<double> ticks_;
};

}  // namespace

std::string render_svg(const Chart& chart) { return Drawing(chart).svg(); }

}  // namespace hysim::report
