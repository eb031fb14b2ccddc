// SPDX-License-Identifier: Apache-2.0
// Messages of the store: whole numbers and strings in a row, little-endian.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace shardplan::probe {

class WireWriter {
 public:
  WireWriter& Number(std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xff));
    return *this;
  }
  WireWriter& Text(std::string_view text) {
    Number(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// What is missing reads as 0 or ""; ok() then turns false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  std::int64_t Number() {
    if (rest_.size() < 8) return Fail(), 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(8);
    return static_cast<std::int64_t>(value);
  }
  std::string Text() {
    const std::int64_t size = Number();
    if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) return Fail(), "";
    std::string text(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(text.size());
    return text;
  }
  bool ok() const { return ok_; }

 private:
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};
}  // namespace shardplan::probe
