#include <gtest/gtest.h>

#include <string>

#include "transports/stdio/program_search.h"

namespace stdgate {
namespace {

using stdio::ScriptHead;

struct Row {
  const char* text;
  const char* interpreter;  // empty: no head
  const char* searched = "";
  bool ends_with_cr = false;
};

TEST(ScriptHead, IsReadAsTheKernelDoes) {
  const Row table[] = {
      {"", ""},
      {"#", ""},
      {"#!", ""},
      {"#! \n/bin/sh", ""},
      {"\x7f"
       "ELF",
       ""},
      {"#!/bin/sh", "/bin/sh"},
      {"#! \t/bin/sh\t-e x\nenv", "/bin/sh"},
      {"#!/usr/bin/env node\n", "/usr/bin/env", "node"},
      {"#!/usr/bin/env -S A=b node --x\n", "/usr/bin/env", "node"},
      {"#!/usr/bin/env\n", "/usr/bin/env"},
      {"#!/bin/sh\r\n", "/bin/sh", "", true},
      {"#!/usr/bin/env python3\r\n", "/usr/bin/env", "python3", true},
  };
  for (const Row& row : table) {
    const auto head = ScriptHead::parse(row.text);
    ASSERT_EQ(head.has_value(), *row.interpreter != '\0') << row.text;
    if (!head) continue;
    EXPECT_EQ(head->interpreter, row.interpreter) << row.text;
    EXPECT_EQ(head->searched, row.searched) << row.text;
    EXPECT_EQ(head->ends_with_cr, row.ends_with_cr) << row.text;
  }
}

TEST(ScriptHead, LooksAtNoMoreThanTheKernel) {
  const std::string spaces(253, ' ');
  EXPECT_EQ(ScriptHead::parse("#!" + spaces + "/bin/sh\n")->interpreter, "/");
  EXPECT_FALSE(ScriptHead::parse("#!" + spaces + " /bin/sh\n"));
}

}  // namespace
}  // namespace stdgate
