// SPDX-License-Identifier: Apache-2.0
// Real ranks: shardplan-probe as child processes that meet over loopback.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/probe/run.h"

namespace shardplan::testing {

class Ranks {
 public:
  // `arguments` are separate words.
  Ranks(int size, std::vector<std::string> arguments) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener, 64), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    for (int rank = 0; rank < size; ++rank)
      Start(rank, size, ntohs(address.sin_port), listener, arguments);
    close(listener);
  }
  ~Ranks() {
    for (const pid_t pid : pids_)
      if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
      }
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      unlink(PathOf(rank, "out").c_str());
      unlink(PathOf(rank, "err").c_str());
    }
  }

  pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }
  void Signal(int rank, int signal) const { kill(pid(rank), signal); }

  // Until the rank has written `count` records.
  bool WaitForRecords(int rank, long count) const {
    for (int tries = 0; tries < 600; ++tries) {
      const std::string out = ContentOf(PathOf(static_cast<std::size_t>(rank), "out"));
      if (std::count(out.begin(), out.end(), '\n') >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  // Ends the rank's story: waits for it, a minute at most.
  Outcome Wait(int rank) {
    pid_t& pid = pids_[static_cast<std::size_t>(rank)];
    int status = 0;
    for (int tries = 0; tries < 1200 && pid > 0; ++tries) {
      if (waitpid(pid, &status, WNOHANG) == pid) {
        pid = 0;
        const auto index = static_cast<std::size_t>(rank);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                ContentOf(PathOf(index, "out")), ContentOf(PathOf(index, "err"))};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return {-1, "", "still running after a minute"};
  }

 private:
  static std::string PathOf(std::size_t rank, const std::string& what) {
    return TempPath(what + std::to_string(rank));
  }

  void Start(int rank, int size, int port, int listener,
             const std::vector<std::string>& arguments) {
    // Named before the fork, after which the process has another id.
    const std::string out = PathOf(static_cast<std::size_t>(rank), "out"),
                      err = PathOf(static_cast<std::size_t>(rank), "err");
    const pid_t child = fork();
    if (child > 0) {
      pids_.push_back(child);
      return;
    }
    std::signal(SIGINT, SIG_DFL);  // which a shell's background jobs ignore
    const auto set = [](const char* name, int value) {
      setenv(name, std::to_string(value).c_str(), 1);
    };
    set("RANK", rank);
    set("WORLD_SIZE", size);
    set("MASTER_PORT", port);
    if (rank == 0) set("SHARDPLAN_STORE_FD", listener);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    const auto redirect = [](const std::string& path, int to) {
      dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), to);
    };
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    std::vector<char*> words{const_cast<char*>(SHARDPLAN_PROBE_BINARY)};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }

  std::vector<pid_t> pids_;
};

inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}
}  // namespace shardplan::testing
