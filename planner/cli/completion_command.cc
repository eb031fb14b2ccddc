// SPDX-License-Identifier: Apache-2.0
// completion bash|zsh: what a shell needs to complete commands, options and files.
#include <fmt/format.h>

#include <memory>

#include "planner/cli/command.h"
#include "planner/cli/options.h"

namespace shardplan {
namespace {

// The options of a command as the command declares them.
std::string OptionsOf(const Command& command) {
  CLI::App app;
  command.declare(app);
  std::string names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names += " --" + name;
  return names;
}

std::string BashCompletion() {
  std::string cases;
  for (const Command& command : Commands())
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, OptionsOf(command).substr(1));
  return fmt::format(R"(_shardplan() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{} help" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _shardplan shardplan
)",
                     fmt::join(CommandNames(), " "), cases);
}
}  // namespace

std::function<int()> DeclareCompletion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash or zsh: eval \"$(shardplan completion bash)\"")
      ->type_name("")
      ->required()
      ->check(OneOf("shell", {"bash", "zsh"}));
  return [shell] {
    const std::string zsh = "autoload -U +X bashcompinit && bashcompinit\n";
    return Answer((*shell == "zsh" ? zsh : "") + BashCompletion());
  };
}
}  // namespace shardplan
