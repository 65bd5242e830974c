#include "gateway/tools/adoption_record.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gateway/config/config_ranges.h"
#include "gateway/config/text_file.h"
#include "gateway/tools/client_settings.h"
#include "gateway/tools/local_files.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormer = ".before";
constexpr std::string_view kAdopted = ".after";
constexpr std::string_view kFormerGateway = ".gateway.before";
constexpr std::string_view kAdoptedGateway = ".gateway.after";

// A path as the name of a file.
std::string flat_name(const std::string& path) {
  std::string name;
  for (const char c : path) name += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
  return name;
}

}  // namespace

AdoptionRecord::AdoptionRecord(const std::string& gateway_file, const std::string& client_file) {
  const fs::path folder = fs::path(gateway_file).parent_path() / "adopted";
  *this = at((folder / flat_name(client_file)).string());
}

AdoptionRecord AdoptionRecord::at(const std::string& path) {
  AdoptionRecord record;
  record.former_ = path + std::string(kFormer);
  record.adopted_ = path + std::string(kAdopted);
  record.former_gateway_ = path + std::string(kFormerGateway);
  record.adopted_gateway_ = path + std::string(kAdoptedGateway);
  return record;
}

tl::expected<std::optional<AdoptionRecord::Texts>, std::string> AdoptionRecord::read() const {
  if (!file_exists(former_)) return std::nullopt;
  auto former = config::read_text_file(former_, kMaxClientFile);
  if (!former) return tl::unexpected(former.error());
  // Without it, the file counts as changed since.
  auto adopted = config::read_text_file(adopted_, kMaxClientFile);
  return Texts{*std::move(former), std::move(adopted).value_or(""), read_gateway()};
}

std::optional<AdoptionRecord::GatewayTexts> AdoptionRecord::read_gateway() const {
  auto adopted = config::read_text_file(adopted_gateway_, config::kMaxConfigFile);
  if (!adopted) return std::nullopt;
  GatewayTexts texts{std::nullopt, *std::move(adopted)};
  if (!file_exists(former_gateway_)) return texts;
  auto former = config::read_text_file(former_gateway_, config::kMaxConfigFile);
  if (!former) return std::nullopt;
  texts.former = *std::move(former);
  return texts;
}

tl::expected<void, std::string> AdoptionRecord::write(const Texts& texts) const {
  if (auto made = make_private_folder_of(former_); !made) return made;
  if (texts.gateway) {
    if (auto written = write_gateway(*texts.gateway); !written) return written;
  }
  if (auto written = replace_file(adopted_, texts.adopted); !written) return written;
  return replace_file(former_, texts.former);
}

tl::expected<void, std::string> AdoptionRecord::write_gateway(const GatewayTexts& texts) const {
  if (!texts.former) {
    ::unlink(former_gateway_.c_str());
  } else if (auto written = replace_file(former_gateway_, *texts.former); !written) {
    return written;
  }
  return replace_file(adopted_gateway_, texts.adopted);
}

void AdoptionRecord::remove() const {
  for (const std::string* file : {&former_, &adopted_, &former_gateway_, &adopted_gateway_}) {
    ::unlink(file->c_str());
  }
}

std::vector<AdoptionRecord> AdoptionRecord::others() const {
  std::vector<AdoptionRecord> found;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(fs::path(former_).parent_path(), unreadable)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kFormer) || path.ends_with(kFormerGateway) || path == former_) continue;
    found.push_back(at(path.substr(0, path.size() - kFormer.size())));
  }
  return found;
}

AdoptionRecord::GatewayUndo AdoptionRecord::judge(const Texts& texts,
                                                  const std::string& present) const {
  if (!texts.gateway || texts.gateway->adopted != present) return GatewayUndo::changed;
  // Who was adopted before has what it uses in the former text, unless it has added nothing since.
  const bool is_used = std::ranges::any_of(others(), [&present](const AdoptionRecord& other) {
    const auto gateway = other.read_gateway();
    return !gateway || gateway->adopted == present;
  });
  return is_used ? GatewayUndo::in_use : GatewayUndo::put_back;
}

tl::expected<void, std::string> AdoptionRecord::pass_on(const Texts& texts) const {
  if (!texts.gateway) return {};
  for (const AdoptionRecord& other : others()) {
    auto gateway = other.read_gateway();
    if (!gateway || gateway->former != texts.gateway->adopted) continue;
    gateway->former = texts.gateway->former;
    if (auto written = other.write_gateway(*gateway); !written) return written;
  }
  return {};
}

}  // namespace stdgate::tools
