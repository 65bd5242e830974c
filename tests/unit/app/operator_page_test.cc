// The operator's page as it is served: what it must not contain, and its policy.
#include "gateway/app/operator_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "transports/http/response.h"

namespace stdgate {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t times(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(OperatorPage, PolicyLetsNothingInButItsOwnScriptAndStyle) {
  const http::HtmlPage page = app::operator_page();
  EXPECT_LE(page.fields.size() + std::string_view("Vary: Accept\r\n").size(), http::kMaxFieldBytes);
  EXPECT_TRUE(std::regex_search(
      page.fields,
      std::regex("^Content-Security-Policy: default-src 'none'; "
                 "style-src 'sha256-[-_A-Za-z0-9]{43}='; script-src 'sha256-[-_A-Za-z0-9]{43}='; "
                 "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                 "frame-ancestors 'none'; require-trusted-types-for 'script'; "
                 "trusted-types 'none'\r\n")))
      << page.fields;
  EXPECT_THAT(page.fields, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page.fields, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(page.fields, HasSubstr("X-Frame-Options: DENY\r\n"));
}

TEST(OperatorPage, IsOneFileThatNeedsNoOther) {
  const std::string text(app::operator_page().text);
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_THAT(text, HasSubstr("</html>"));
  for (const char* const tag : {"<style>", "</style>", "<script>", "</script>"}) {
    EXPECT_EQ(times(text, tag), 1U) << tag;
  }
  // The namespace of SVG looks like an address, but is only a name.
  EXPECT_EQ(times(text, "http://"), times(text, "http://www.w3.org/2000/svg"));
  for (const char* const word : {"https://", "@import", "url(", "@font-face", " src="}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(OperatorPage, MakesNoMarkupOfText) {
  const std::string text(app::operator_page().text);
  for (const char* const word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                 "DOMParser", "eval(", "new Function", "javascript:", " style="}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
  EXPECT_FALSE(std::regex_search(text, std::regex("<[a-z]+[^>]* on[a-z]+=")));
}

}  // namespace
}  // namespace stdgate
