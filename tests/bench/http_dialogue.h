// HttpDialogue: calls by POST, one at a time; and the plain requests of which only the status
// counts.
#pragma once

#include <string>

#include "tests/bench/dialogue.h"
#include "tests/bench/http_answer.h"

namespace stdgate::bench {

class HttpDialogue : public Dialogue {
 public:
  HttpDialogue(const LoadOptions& options, CallBook book, Channel& channel, Tally& tally);

  void begin() override;
  void begin_calls(Instant now) override;
  tl::expected<size_t, std::string> take(std::span<char> bytes, Instant now) override;

 protected:
  using Checked = tl::expected<void, std::string>;
  // What precedes the calls; the base has nothing.
  virtual Checked on_answer(const HttpAnswer& answer, Instant now);
  // `fields` are whole header lines.
  [[nodiscard]] std::string request_head(std::string_view method, std::string_view fields,
                                         size_t body_size) const;
  void prepare_calls(std::string_view fields);
  void close_call(const HttpAnswer& answer, std::span<char> message, Instant now);
  void call_again(Instant now);

  const LoadOptions& options_;
  Channel& channel_;
  CallBook book_;

 private:
  NumberedText request_;  // head and body
};

}  // namespace stdgate::bench
