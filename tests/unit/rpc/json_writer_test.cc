// JsonWriter: the same document in both layouts.

#include "gateway/rpc/json_writer.h"

#include <gtest/gtest.h>

namespace stdgate {
namespace {

std::string write(rpc::JsonWriter::Layout layout) {
  rpc::JsonWriter json(layout);
  json.begin_object();
  json.text("a\"b", "c\n");
  json.begin_array("list");
  json.number({}, 1);
  json.raw({}, "null");
  json.begin_object();
  json.end_object();
  json.end_array();
  json.begin_array("none");
  json.end_array();
  json.boolean("is", true);
  json.end_object();
  return json.take();
}

TEST(JsonWriter, Compact) {
  EXPECT_EQ(write(rpc::JsonWriter::Layout::compact),
            R"({"a\"b":"c\n","list":[1,null,{}],"none":[],"is":true})");
}

TEST(JsonWriter, Lines) {
  EXPECT_EQ(write(rpc::JsonWriter::Layout::lines), R"({
  "a\"b": "c\n",
  "list": [
    1,
    null,
    {}
  ],
  "none": [],
  "is": true
})");
}

}  // namespace
}  // namespace stdgate
