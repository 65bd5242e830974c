#include "gateway/app/operator_page.h"

#include <string>
#include <string_view>

#include "gateway/base/check.h"
#include "gateway/base/encodings.h"
#include "transports/auth/digest.h"

namespace stdgate::app {

namespace {

std::string_view part_between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t at = text.find(begin);
  STDGATE_CHECK(at != std::string_view::npos);
  const std::string_view part = text.substr(at + begin.size());
  return part.substr(0, part.find(end));
}

// CSP 3, section 2.3.1. The alphabet for URLs is one of its own; padding is expected all the same.
std::string hash_source(std::string_view text) {
  const auth::Digest digest = auth::Sha256().of(text);
  const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  return "'sha256-" + encode_base64url(bytes) + "='";
}

}  // namespace

http::HtmlPage operator_page() {
  std::string fields = "Content-Security-Policy: default-src 'none'; style-src ";
  fields += hash_source(part_between(kOperatorPageText, "<style>", "</style>"));
  fields += "; script-src ";
  fields += hash_source(part_between(kOperatorPageText, "<script>", "</script>"));
  fields +=
      "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
      "Cache-Control: no-store\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "X-Frame-Options: DENY\r\n";
  return {kOperatorPageText, std::move(fields)};
}

}  // namespace stdgate::app
