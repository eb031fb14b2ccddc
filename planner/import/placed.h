// SPDX-License-Identifier: Apache-2.0
// Text whose characters know where they were written.
//
// A launch script puts its arguments together from variables, arrays and defaults. Whoever reads
// an argument in the end can still say in which line of which file it stands. What a static reading
// cannot know (the output of a program, a variable from outside) is kept as an unknown: its source
// between two marks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// A line of one of the files that are imported together; counts from 1. 0: no place.
struct Spot {
  int file = 0;
  int line = 0;
  bool operator==(const Spot&) const = default;
};

class Placed {
 public:
  Placed() = default;
  Placed(std::string_view text, Spot spot);  // all at one line
  // A whole file, its lines counted.
  static Placed File(std::string_view text, int file);

  void Append(char character, Spot spot);
  void Append(const Placed& other);
  Placed Part(std::size_t begin, std::size_t end) const;

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  char operator[](std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  Spot At(std::size_t i) const { return i < spots_.size() ? spots_[i] : Spot{}; }
  Spot spot() const { return At(0); }

 private:
  std::string text_;
  std::vector<Spot> spots_;
};

// `source` as something that cannot be known.
Placed Unknown(std::string_view source, Spot spot);
bool IsUnknown(std::string_view text);
// The text for eyes: without marks.
std::string WithoutMarks(std::string_view text);
}  // namespace shardplan
