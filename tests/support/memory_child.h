// MemoryChild: the process behind a child link, in memory. Derived classes decide what the child
// writes and does.
//
// Job: keep what the core sends, and report events in the order that ChildEvents demands. The test
// fails if the core breaks the contract of ChildLink. Owner: its link, and a test that looks at it
// after its end.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/pool/child_link.h"

namespace stdgate::test {

class MemoryChild {
 public:
  virtual ~MemoryChild() = default;
  MemoryChild(const MemoryChild&) = delete;
  MemoryChild& operator=(const MemoryChild&) = delete;

  static std::unique_ptr<pool::ChildLink> link_to(std::shared_ptr<MemoryChild> child) {
    return std::make_unique<Link>(std::move(child));
  }

  // Whether events can be reported: the child has not ended, and its link exists.
  [[nodiscard]] bool running() const { return events_ != nullptr; }
  // Whether the core reads the child's output.
  [[nodiscard]] bool is_read() const { return is_read_; }

 protected:
  explicit MemoryChild(pool::ChildEvents& events) : events_(&events) {}

  // The tell functions may be called only while running().
  void tell_started(int pid) {
    tell([pid](pool::ChildEvents& events) { events.on_started(pid); });
  }
  void tell_output(std::span<char> bytes) {
    tell([bytes](pool::ChildEvents& events) { events.on_output(bytes); });
  }
  void tell_output_end() {
    tell([](pool::ChildEvents& events) { events.on_output_end(); });
  }
  void tell_writable() {
    tell([](pool::ChildEvents& events) { events.on_writable(); });
  }
  void tell_memory(uint64_t bytes) {
    tell([bytes](pool::ChildEvents& events) { events.on_memory(bytes); });
  }
  void tell_exit(const pool::ExitStatus& status) {
    tell([this, &status](pool::ChildEvents& events) {
      events_ = nullptr;
      events.on_exit(status);
    });
  }

  // The first line of the input that has not been taken, without its end.
  [[nodiscard]] bool has_line() const { return input_.find('\n') != std::string::npos; }
  std::string take_input_line() {
    const size_t end = input_.find('\n');
    std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    return line;
  }

  // Called by the core, see ChildLink.
  virtual void write(std::span<const std::string_view> parts) {
    for (const std::string_view part : parts) input_ += part;
  }
  [[nodiscard]] virtual size_t unsent_bytes() const { return 0; }
  virtual void set_reading(bool reading) { is_read_ = reading; }
  [[nodiscard]] virtual std::vector<std::string> last_words() const { return {}; }
  virtual void end(Duration grace) = 0;

  std::string input_;

 private:
  class Link final : public pool::ChildLink {
   public:
    explicit Link(std::shared_ptr<MemoryChild> child) : child_(std::move(child)) {}
    ~Link() override {
      EXPECT_FALSE(child_->telling_) << "a link is destroyed inside of its own event";
      child_->events_ = nullptr;
    }
    void write(std::span<const std::string_view> parts) override { child_->write(parts); }
    [[nodiscard]] size_t unsent_bytes() const override { return child_->unsent_bytes(); }
    void set_reading(bool reading) override { child_->set_reading(reading); }
    [[nodiscard]] std::vector<std::string> last_words() const override {
      return child_->last_words();
    }
    void end(Duration grace) override { child_->end(grace); }

   private:
    const std::shared_ptr<MemoryChild> child_;
  };

  template <class Event>
  void tell(Event event) {
    const bool was_telling = std::exchange(telling_, true);
    event(*events_);
    telling_ = was_telling;
  }

  pool::ChildEvents* events_;
  bool telling_ = false;  // an event is being reported
  bool is_read_ = true;
};

}  // namespace stdgate::test
