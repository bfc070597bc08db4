// Strong physical quantities: a double in SI units whose dimension is part of its type.
// `bytes / bandwidth` is `Seconds` by type and adding bytes to seconds does not compile.
// Wrong when a dimension other than byte, flop and second is needed (price, energy): add it here.
#pragma once

#include <compare>

namespace hysim {

/// Exponents of the three base dimensions.
template <int ByteExp, int FlopExp, int SecondExp>
struct Dim {
  static constexpr int kByte = ByteExp;
  static constexpr int kFlop = FlopExp;
  static constexpr int kSecond = SecondExp;
};

template <class A, class B>
using DimProduct = Dim<A::kByte + B::kByte, A::kFlop + B::kFlop, A::kSecond + B::kSecond>;
template <class A, class B>
using DimQuotient = Dim<A::kByte - B::kByte, A::kFlop - B::kFlop, A::kSecond - B::kSecond>;

template <class D>
class Quantity;

namespace detail {
/// A dimensionless result is a plain double; everything else stays a Quantity.
template <class D>
struct Collapse {
  using Type = Quantity<D>;
};
template <>
struct Collapse<Dim<0, 0, 0>> {
  using Type = double;
};
}  // namespace detail

template <class D>
class Quantity {
 public:
  using Dimension = D;

  constexpr Quantity() = default;
  /// `si`: the value in SI units (byte, flop, second and their quotients).
  constexpr explicit Quantity(double si) : si_(si) {}

  /// The value in SI units.
  constexpr double si() const { return si_; }

  constexpr Quantity& operator+=(Quantity other) {
    si_ += other.si_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    si_ -= other.si_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    si_ *= factor;
    return *this;
  }
  constexpr Quantity operator-() const { return Quantity(-si_); }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.si_ * f); }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(a.si_ * f); }
  friend constexpr Quantity operator/(Quantity a, double f) { return Quantity(a.si_ / f); }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double si_ = 0.0;
};

template <class A, class B>
constexpr typename detail::Collapse<DimProduct<A, B>>::Type operator*(Quantity<A> a,
                                                                      Quantity<B> b) {
  return typename detail::Collapse<DimProduct<A, B>>::Type(a.si() * b.si());
}

template <class A, class B>
constexpr typename detail::Collapse<DimQuotient<A, B>>::Type operator/(Quantity<A> a,
                                                                       Quantity<B> b) {
  return typename detail::Collapse<DimQuotient<A, B>>::Type(a.si() / b.si());
}

template <class D>
constexpr Quantity<DimQuotient<Dim<0, 0, 0>, D>> operator/(double a, Quantity<D> b) {
  return Quantity<DimQuotient<Dim<0, 0, 0>, D>>(a / b.si());
}

using Bytes = Quantity<Dim<1, 0, 0>>;
using Flops = Quantity<Dim<0, 1, 0>>;
using Seconds = Quantity<Dim<0, 0, 1>>;
using BytesPerSecond = Quantity<Dim<1, 0, -1>>;
using FlopsPerSecond = Quantity<Dim<0, 1, -1>>;
/// Events (clock cycles, table elements) per second; the event itself has no dimension.
using PerSecond = Quantity<Dim<0, 0, -1>>;

template <class D>
constexpr Quantity<D> max(Quantity<D> a, Quantity<D> b) {
  return a < b ? b : a;
}
template <class D>
constexpr Quantity<D> min(Quantity<D> a, Quantity<D> b) {
  return b < a ? b : a;
}

}  // namespace hysim
