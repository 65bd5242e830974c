#include "gateway/tools/adoption_record.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gateway/config/config_files.h"
#include "gateway/config/config_ranges.h"
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

AdoptionRecord::AdoptionRecord(const std::string& gateway_file, const std::string& client_file)
    : AdoptionRecord(
          (fs::path(gateway_file).parent_path() / "adopted" / flat_name(client_file)).string()) {}

std::string AdoptionRecord::file(std::string_view ending) const {
  return path_ + std::string(ending);
}

std::string AdoptionRecord::former_file() const { return file(kFormer); }

tl::expected<std::optional<AdoptionRecord::Texts>, std::string> AdoptionRecord::read() const {
  if (!file_exists(file(kFormer))) return std::nullopt;
  auto former = config::read_text_file(file(kFormer), kMaxClientFile);
  if (!former) return tl::unexpected(former.error());
  // Without it, the file counts as changed since.
  auto adopted = config::read_text_file(file(kAdopted), kMaxClientFile);
  return Texts{*std::move(former), std::move(adopted).value_or(""), read_gateway()};
}

std::optional<AdoptionRecord::GatewayTexts> AdoptionRecord::read_gateway() const {
  auto adopted = config::read_text_file(file(kAdoptedGateway), config::kMaxConfigFile);
  if (!adopted) return std::nullopt;
  GatewayTexts texts{std::nullopt, *std::move(adopted)};
  if (!file_exists(file(kFormerGateway))) return texts;
  auto former = config::read_text_file(file(kFormerGateway), config::kMaxConfigFile);
  if (!former) return std::nullopt;
  texts.former = *std::move(former);
  return texts;
}

tl::expected<void, std::string> AdoptionRecord::write(const Texts& texts) const {
  if (auto made = make_private_folder_of(file(kFormer)); !made) return made;
  if (texts.gateway) {
    if (auto written = write_gateway(*texts.gateway); !written) return written;
  }
  if (auto written = replace_file(file(kAdopted), texts.adopted); !written) return written;
  return replace_file(file(kFormer), texts.former);
}

tl::expected<void, std::string> AdoptionRecord::write_gateway(const GatewayTexts& texts) const {
  if (!texts.former) {
    ::unlink(file(kFormerGateway).c_str());
  } else if (auto written = replace_file(file(kFormerGateway), *texts.former); !written) {
    return written;
  }
  return replace_file(file(kAdoptedGateway), texts.adopted);
}

void AdoptionRecord::remove() const {
  for (const std::string_view ending : {kFormer, kAdopted, kFormerGateway, kAdoptedGateway}) {
    ::unlink(file(ending).c_str());
  }
}

std::vector<AdoptionRecord> AdoptionRecord::others() const {
  std::vector<AdoptionRecord> found;
  std::error_code unreadable;
  for (const auto& entry :
       fs::directory_iterator(fs::path(file(kFormer)).parent_path(), unreadable)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kFormer) || path.ends_with(kFormerGateway) || path == file(kFormer))
      continue;
    found.push_back(AdoptionRecord(path.substr(0, path.size() - kFormer.size())));
  }
  return found;
}

AdoptionRecord::GatewayUndo AdoptionRecord::judge(const Texts& texts,
                                                  const std::string& present) const {
  if (!texts.gateway || texts.gateway->adopted != present) return GatewayUndo::changed;
  // A client that was adopted earlier finds its backends in the former text, unless its adoption
  // left the present text.
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
