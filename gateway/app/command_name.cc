// The name of a backend that is given as a command: what people call the server in it.
//
// Finds the server behind npx, uvx, python3 -m, docker run, env and the like. No I/O: judges by the
// words of the command, or by the name of the working directory if the words do not help.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "gateway/app/command_line.h"
#include "gateway/base/text.h"
#include "gateway/config/backend_facts.h"

namespace stdgate::app {
namespace {

using Words = std::span<const std::string>;

// The kind of a runner's first operand.
enum class Operand : uint8_t {
  package,  // of a registry: @scope/name@version
  script,   // a path or a URL
  image,    // of a container: registry/name:tag
  jar,      // a path with a version
  command,  // another command
};

// How a program that runs others says what it runs. Lists are words with spaces around each.
struct Runner {
  std::string_view programs;
  std::string_view subcommand;      // one word, or two; empty: none is needed
  std::string_view value_options;   // whose next word is no operand
  std::string_view naming_options;  // whose next word is the operand
  Operand operand;
};

constexpr std::string_view kNpmOptions =
    " -p --package -c --call -w --workspace --prefix --registry ";
constexpr std::string_view kUvxOptions =
    " --from --with --with-editable --with-requirements -p --python --index --index-url "
    "--extra-index-url --default-index --find-links --directory --project --env-file "
    "--refresh-package ";
constexpr std::string_view kUvRunOptions =
    " --with --with-editable --with-requirements -p --python --index --index-url --default-index "
    "--extra-index-url --extra --group --only-group --directory --project --package --env-file ";
constexpr std::string_view kNodeOptions =
    " -r --require --import --loader --experimental-loader -C --conditions --title ";
constexpr std::string_view kDenoOptions = " -c --config --import-map --lock -L --log-level --cert ";
constexpr std::string_view kDockerOptions =
    " -e --env --env-file -v --volume --mount -p --publish --name --network --net -w --workdir -u "
    "--user --entrypoint -m --memory --cpus -l --label -h --hostname --add-host --platform --pull "
    "--gpus --ulimit --cap-add --cap-drop --security-opt --tmpfs --device --restart --log-driver "
    "--log-opt --shm-size --ip --dns --pid --ipc --userns --volumes-from --memory-swap "
    "--pids-limit ";
constexpr std::string_view kJavaOptions =
    " -cp -classpath --class-path -p --module-path --add-modules --add-opens ";

constexpr std::array kRunners{
    Runner{" npx bunx pnpx dnx ", "", kNpmOptions, "", Operand::package},
    Runner{" npm pnpm ", "exec", kNpmOptions, "", Operand::package},
    Runner{" npm bun ", "x", kNpmOptions, "", Operand::package},
    Runner{" pnpm yarn ", "dlx", kNpmOptions, "", Operand::package},
    Runner{" uvx ", "", kUvxOptions, "", Operand::package},
    Runner{" uv ", "tool run", kUvxOptions, "", Operand::package},
    Runner{" uv ", "run", kUvRunOptions, " -m --module -s --script ", Operand::command},
    Runner{" pipx ", "run", " --spec --python --index-url --pip-args ", "", Operand::package},
    Runner{" poetry pdm hatch rye ", "run", " -C --directory -P --project -p ", "",
           Operand::command},
    Runner{" mcp fastmcp ", "run", " -t --transport ", "", Operand::script},
    Runner{" python pypy ", "", " -W -X ", " -m ", Operand::script},
    Runner{" node nodejs tsx ts-node ", "", kNodeOptions, "", Operand::script},
    Runner{" deno ", "run", kDenoOptions, "", Operand::script},
    Runner{" bun ", "run", "", "", Operand::script},
    Runner{" bun ", "", "", "", Operand::script},
    Runner{" ruby perl php lua bash sh zsh dash Rscript ", "", " -I -r -d ", "", Operand::script},
    Runner{" docker podman nerdctl ", "run", kDockerOptions, "", Operand::image},
    Runner{" docker podman nerdctl ", "container run", kDockerOptions, "", Operand::image},
    Runner{" docker podman ", "compose run", kDockerOptions, "", Operand::package},
    Runner{" docker podman nerdctl ", "exec", " -e --env --env-file -u --user -w --workdir ", "",
           Operand::package},
    Runner{" cargo ", "run", " --manifest-path --features --target --target-dir --profile ",
           " --bin --example -p --package ", Operand::command},
    Runner{" go ", "run", " -C -tags -mod -ldflags -gcflags ", "", Operand::script},
    Runner{" java ", "", kJavaOptions, " -jar ", Operand::jar},
    Runner{" dotnet ", "run", " -c --configuration -f --framework -r ", " --project ",
           Operand::script},
    Runner{" dotnet ", "", "", "", Operand::script},
    Runner{" stdgate ", "", "", "", Operand::package},
    Runner{" env ", "", " -u --unset -C --chdir -S ", "", Operand::command},
    Runner{" nice ", "", " -n --adjustment ", "", Operand::command},
    Runner{" sudo doas ", "", " -u --user -g --group ", "", Operand::command},
    Runner{" stdbuf ", "", " -i -o -e ", "", Operand::command},
    Runner{" ionice ", "", " -c -n ", "", Operand::command},
    Runner{" exec nohup setsid command time ", "", "", "", Operand::command},
};

// The next word after one of these options is the text of a program.
constexpr std::string_view kShells = " bash sh zsh dash ";
constexpr std::string_view kCodeOptions = " -c -e -p --eval --print ";

constexpr std::array<std::string_view, 22> kExtensions{
    ".py",  ".js",  ".mjs", ".cjs", ".ts",  ".mts", ".cts", ".tsx", ".jsx", ".rb",   ".pl",
    ".php", ".lua", ".sh",  ".r",   ".jar", ".dll", ".exe", ".go",  ".rs",  ".wasm", ".csproj"};

// Names of files and folders that do not say which server it is. A `server` does where nothing else
// in the path says more.
constexpr std::string_view kEmptyNames =
    " index main __main__ mod cli app start run stdio entry program dist build src lib out bin cmd "
    "target release debug scripts cjs esm node_modules .bin . .. ~ usr local opt srv home users "
    "root "
    "tmp var sbin libexec share ";
constexpr std::string_view kWeakNames = " server mcp-server mcp ";

constexpr size_t kMaxCommandDepth = 8;  // runners in runners

bool has_word(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  return list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

std::string_view last_part(std::string_view path, char separator = '/') {
  return path.substr(path.rfind(separator) + 1);
}

std::string_view without_extension(std::string_view file) {
  const std::string lowered = to_lower_ascii(file);
  for (const std::string_view extension : kExtensions) {
    if (lowered.size() > extension.size() && lowered.ends_with(extension)) {
      return file.substr(0, file.size() - extension.size());
    }
  }
  return file;
}

// "My Server" -> "my-server": letters in lower case, and a hyphen for what a name cannot have.
std::string as_backend_name(std::string_view text) {
  std::string name;
  for (const char c : to_lower_ascii(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

// "@scope/name@1.2" -> "name", "name[extra]==1" -> "name", "git+https://host/x/name.git@v1" ->
// "name"
std::string from_package(std::string_view package) {
  package = package.substr(0, package.find_first_of("#?"));
  const std::string_view scheme = package.substr(0, package.find(':'));
  const bool is_registry = scheme == "npm" || scheme == "jsr" || scheme == "github";
  if (is_registry) package.remove_prefix(std::min(scheme.size() + 1, package.size()));
  while (package.ends_with('/')) package.remove_suffix(1);
  package = last_part(package);
  package = package.substr(0, package.find_first_of("@[=<>~!;", 1));
  if (package.ends_with(".git")) package.remove_suffix(4);
  return std::string(without_extension(package));
}

// "ghcr.io/org/name:tag@sha256:…" -> "name"
std::string from_image(std::string_view image) {
  image = last_part(image.substr(0, image.find('@')));
  return std::string(image.substr(0, image.find(':')));
}

// "dist/weather.js" -> "weather"; the folder's name where the file's says nothing.
std::string from_path(std::string_view path, std::string_view working_directory) {
  path = path.substr(0, path.find_first_of("?#"));
  std::string_view weak;
  for (std::string_view part : {path, working_directory}) {
    const bool is_given = part.data() == path.data();
    while (!part.empty()) {
      std::string_view name = last_part(part);
      part.remove_suffix(std::min(name.size() + 1, part.size()));
      name = without_extension(name.substr(0, name.find('@', 1)));
      const bool is_user = part == "/home" || part == "/Users";
      if (name.empty() || is_user || has_word(kEmptyNames, to_lower_ascii(name))) continue;
      if (has_word(kWeakNames, to_lower_ascii(name)) && is_given) {
        if (weak.empty()) weak = name;
        continue;
      }
      // A weak name from the command is preferred to one from the working directory.
      if (!is_given && !weak.empty()) return std::string(weak);
      return std::string(name);
    }
  }
  return std::string(weak);
}

// "weather-1.2.3-all.jar" -> "weather"
std::string from_jar(std::string_view path, std::string_view working_directory) {
  std::string name = from_path(path, working_directory);
  for (size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1)) {
    const char next = at + 1 < name.size() ? name[at + 1] : '\0';
    if (next >= '0' && next <= '9') return name.substr(0, at);
  }
  return name;
}

// "/usr/bin/python3.11" -> "python"
std::string_view runner_name(std::string_view program) {
  program = last_part(program);
  if (program.ends_with(".exe")) program.remove_suffix(4);
  const size_t end = program.find_last_not_of("0123456789.");
  return program.substr(0, end == std::string_view::npos ? program.size() : end + 1);
}

// The runner whose program and subcommand these are; moves `words` behind the subcommand. Null:
// none.
const Runner* find_runner(std::string_view program, Words& words) {
  for (const Runner& runner : kRunners) {
    if (!has_word(runner.programs, program)) continue;
    std::string_view expected = runner.subcommand;
    size_t at = 0;
    while (!expected.empty() && at < words.size()) {
      const std::string_view word = expected.substr(0, expected.find(' '));
      if (words[at] != word) break;
      expected.remove_prefix(std::min(word.size() + 1, expected.size()));
      ++at;
    }
    if (!expected.empty()) continue;
    words = words.subspan(at);
    return &runner;
  }
  return nullptr;
}

bool is_assignment(const std::string& word) {
  return !word.starts_with('=') && word.find('=') != std::string::npos &&
         word.find('/') > word.find('=');
}

std::string resolve(Words command, std::string_view working_directory, size_t depth);

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r\n'\"", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(" \t\r\n'\"", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The last command of a shell's script, when that is a plain one: "cd x && exec npx y" -> npx y.
std::string from_shell_script(std::string_view script, std::string_view working_directory,
                              size_t depth) {
  if (script.find_first_of("$`(){}") != std::string_view::npos) return {};
  const size_t end = script.find_last_not_of(" \t\r\n;&");
  script = script.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const std::vector<std::string> words =
      split_words(script.substr(script.find_last_of(";&|\n") + 1));
  if (words.empty() || has_word(" fi done esac cd echo ", words.front())) return {};
  return resolve(words, working_directory, depth + 1);
}

std::string from_operand(const Runner& runner, Words rest, std::string_view working_directory,
                         size_t depth) {
  const std::string& operand = rest.front();
  switch (runner.operand) {
    case Operand::package:
      return from_package(operand);
    case Operand::script:
      return operand.starts_with("npm:") || operand.starts_with("jsr:")
                 ? from_package(operand)
                 : from_path(operand, working_directory);
    case Operand::image:
      return from_image(operand);
    case Operand::jar:
      return operand.ends_with(".jar") ? from_jar(operand, working_directory)
                                       : std::string(last_part(operand, '.'));
    case Operand::command:
      return resolve(rest, working_directory, depth + 1);
  }
  return {};
}

// The value of an option that names the server: a module, a target, a file.
std::string from_name(const Runner& runner, const std::string& name,
                      std::string_view working_directory) {
  if (runner.operand == Operand::jar) return from_jar(name, working_directory);
  const std::string found = from_path(name, {});
  return found.empty() ? name : found;
}

// The program that the runner runs. `words` begins behind the runner's subcommand. Empty: not
// known.
std::string from_runner(std::string_view program, const Runner& runner, Words words,
                        std::string_view working_directory, size_t depth) {
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    const bool has_next = at + 1 < words.size();
    if (has_word(runner.naming_options, word)) {
      return has_next ? from_name(runner, words[at + 1], working_directory) : std::string();
    }
    if (has_word(runner.value_options, word)) {
      ++at;
      continue;
    }
    const bool is_shell_code = has_word(kShells, program) && word.starts_with('-') &&
                               !word.starts_with("--") && word.ends_with('c');
    if (is_shell_code) {
      return has_next ? from_shell_script(words[at + 1], working_directory, depth) : std::string();
    }
    if (runner.operand == Operand::script && has_word(kCodeOptions, word)) return {};
    if (word.empty() || word.starts_with('-')) continue;
    if (runner.operand == Operand::command && is_assignment(word)) continue;
    if (program == "cargo") break;  // an argument of what is built
    return from_operand(runner, words.subspan(at), working_directory, depth);
  }
  // These run what is in the working directory.
  return has_word(" cargo go dotnet ", program) ? from_path({}, working_directory) : std::string();
}

std::string resolve(Words command, std::string_view working_directory, size_t depth) {
  if (command.empty() || depth > kMaxCommandDepth) return {};
  const std::string& program = command.front();
  const std::string_view name = runner_name(program);
  Words words = command.subspan(1);
  if (const Runner* runner = find_runner(name, words)) {
    std::string found = from_runner(name, *runner, words, working_directory, depth);
    if (!as_backend_name(found).empty()) return found;
    return std::string(last_part(program));
  }
  const std::string found = from_path(program, {});
  return found.empty() ? std::string(without_extension(last_part(program))) : found;
}

}  // namespace

std::string name_from_command(const std::vector<std::string>& command,
                              const std::string& working_directory) {
  for (const std::string& candidate :
       {resolve(command, working_directory, 0), std::string(last_part(command.front()))}) {
    std::string name = as_backend_name(candidate);
    if (config::check_backend_name(name)) return name;
  }
  return std::string(kDefaultBackendName);
}

}  // namespace stdgate::app
