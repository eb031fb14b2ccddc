// SPDX-License-Identifier: Apache-2.0
// A shell script as tokens: words with their quotes, arrays, operators, here-documents.
//
// Nothing is expanded here. A script that breaks off in the middle of a quote or a parenthesis ends
// there; no text is an error.
#pragma once
#include <vector>

#include "planner/import/placed.h"

namespace shardplan {

struct Token {
  enum class Kind {
    kWord,        // text: as written, quotes included
    kArray,       // text: "NAME=" or "NAME+="; items: its words
    kOperator,    // text: ; ;; & && | || ( ) < > >> >& &> <<<
    kDocument,    // text: the delimiter as written; items[0]: the lines of a here-document
    kArithmetic,  // text: what stands in (( ))
    kNewline,
    kEnd,
  };
  Kind kind = Kind::kEnd;
  Placed text;
  std::vector<Placed> items;
};

// GUARANTEES: the last token, and only it, is kEnd.
std::vector<Token> ShellTokens(const Placed& source);

// The end of what an opening bracket at `open` begins, quotes respected: one past the closing one,
// or the size of the text.
std::size_t EndOfBracket(const Placed& text, std::size_t open, char opening, char closing);
}  // namespace shardplan
