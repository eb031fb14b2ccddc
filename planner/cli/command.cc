// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "planner/base/build_config.h"
#include "planner/base/nearest.h"

namespace shardplan {
namespace {

constexpr std::string_view kUsageLine = "usage: shardplan COMMAND [SPEC] [--option=value ...]\n";

std::string Help() {
  std::string text(kUsageLine);
  for (const Command& command : Commands())
    text += fmt::format("  {:<12} {}\n", command.name, command.summary);
  return text +
         "A SPEC is a YAML or JSON file; - reads it from standard input.\n"
         "Options of most commands: --set KEY=VALUE overrides a key of the spec; -o "
         "text|json|yaml.\n"
         "All options of a command: shardplan COMMAND --help\n"
         "Exit codes: 0 done, 1 failed, 2 bad usage or spec, 3 no plan fits (plan), this one does "
         "not "
         "(check)\n";
}

// The options of `app` by their long names.
std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// "--keep needs a value: N", of an error that begins with the option's name.
std::string MissingValue(const CLI::ParseError& error, const CLI::App& app) {
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  return fmt::format("{} needs a value{}", name,
                     option == nullptr ? "" : ": " + option->get_type_name());
}

// What CLI11 found wrong, in our words.
std::string Explanation(const CLI::ParseError& error, const CLI::App& app) {
  const std::string see = fmt::format("shardplan {} --help shows all", app.get_name());
  const std::vector<std::string> extra = app.remaining();
  if (!extra.empty()) {
    const std::string& word = extra.front();
    if (word.empty() || word[0] != '-')
      return fmt::format("there is no place for the argument '{}'; {}", word, see);
    const std::string name = word.substr(0, word.find('='));
    const std::string near = DidYouMean(name, OptionNames(app));
    return fmt::format("there is no option '{}'{}{}", name, near.empty() ? "; " : ": " + near, see);
  }
  // CLI11 counts what is missing; each option of ours takes one value.
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return MissingValue(error, app);
  // A failed check says what works; the rest does not.
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return error.what();
  return fmt::format("{}; {}", error.what(), see);
}

int Run(const Command& command, int argc, const char* const* argv) {
  CLI::App app(std::string(command.summary), std::string(command.name));
  app.set_help_flag("-h,--help", "this text");
  app.get_formatter()->column_width(30);
  const std::function<int()> run = command.declare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Answer(app.help("shardplan"));
  } catch (const CLI::ParseError& error) {
    return Complain(fmt::format("{}: {}", command.name, Explanation(error, app)), kUsage);
  }
  return run();
}
}  // namespace

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands{
      {"plan", "rank parallel plans for a spec", DeclarePlan},
      {"check", "judge the one plan that a spec fixes", DeclareCheck},
      {"export", "write the files that start a plan", DeclareExport},
      {"model", "count a model's parameters, FLOPs and state", DeclareModel},
      {"collectives", "predict collectives on a cluster", DeclareCollectives},
      {"probe", "measure this machine: collectives, kernels, memory, disks", DeclareProbe},
      {"import", "read launch scripts and configurations as a spec", DeclareImport},
      {"diff", "show what changes between two plans, and what each change does", DeclareDiff},
      {"list", "show the catalogue: GPUs, links, clusters, models, specs, frameworks", DeclareList},
      {"bench", "time the search over fixed specs; print its signature", DeclareBench},
      {"completion", "print completions for bash or zsh", DeclareCompletion},
      {"version", "print the version", DeclareVersion},
  };
  return commands;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  return names;
}

int RunCommandLine(int argc, const char* const* argv) {
  // A closed pipe is an error of the write, which Answer reports, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  if (argc < 2) {
    std::fputs(Help().c_str(), stderr);
    return kUsage;
  }
  const std::string_view word = argv[1];
  if (word == "--version") return Answer(fmt::format("shardplan {}\n", kVersion));
  if (word == "--help" || word == "-h" || word == "help") {
    if (word != "help" || argc < 3) return Answer(Help());
    const char* const ask[] = {argv[0], argv[2], "--help"};
    return RunCommandLine(3, ask);
  }
  const auto command = std::find_if(Commands().begin(), Commands().end(),
                                    [&](const Command& c) { return c.name == word; });
  if (command != Commands().end()) return Run(*command, argc - 1, argv + 1);
  return Complain(
      fmt::format("there is no command '{}': {}", word, Suggest(word, CommandNames(), "it takes")),
      kUsage);
}
}  // namespace shardplan
