// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "planner/cli/output.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;
// Ranks whose peer failed end by themselves within their silence timeout, 10 s unless told
// otherwise; interrupted ones at once.
constexpr std::chrono::seconds kAfterFailure{15}, kAfterSignal{3}, kAfterDeadline{5};

volatile std::sig_atomic_t signalled = 0;
void OnSignal(int signal) { signalled = signal; }

// Signals are noted while one of these lives.
class SignalGuard {
 public:
  SignalGuard() {
    signalled = 0;
    struct sigaction action {};
    action.sa_handler = OnSignal;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~SignalGuard() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  struct sigaction interrupt_ {
  }, terminate_{};
};

// One end of a pipe that is read by lines.
struct Reader {
  int descriptor = -1;
  std::string pending;

  // False at the end.
  bool Read(const std::function<void(const std::string&)>& on_line) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    pending.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(pending.substr(begin, end - begin));
    pending.erase(0, begin);
    if (got == 0 && !pending.empty()) on_line(std::exchange(pending, {}));
    return got > 0;
  }
};

struct Rank {
  pid_t pid = 0;  // 0 once it has ended
  Reader out, err;
};

// A socket on a free port of loopback, for rank 0 to serve; it survives exec.
Result<std::pair<int, int>> ListenOnLoopback() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (listener >= 0 && bind(listener, raw, size) == 0 && listen(listener, 1024) == 0 &&
      getsockname(listener, raw, &size) == 0)
    return std::pair(listener, static_cast<int>(ntohs(address.sin_port)));
  return tl::unexpected(
      Error{Code::kUnavailable,
            fmt::format("shardplan: no port of loopback can be served: {}", std::strerror(errno))});
}

void SetDefault(const char* name, const char* value) { setenv(name, value, 0); }

// In the child, between fork and exec.
void SetEnvironment(const Launch& launch, int rank, int port, int listener) {
  const auto set = [](const char* name, int value) {
    setenv(name, std::to_string(value).c_str(), 1);
  };
  set("RANK", rank);
  set("WORLD_SIZE", launch.processes);
  set("LOCAL_RANK", launch.share_gpu ? 0 : rank);
  set("MASTER_PORT", port);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  unsetenv("SHARDPLAN_STORE_PORT");
  if (rank == 0)
    set("SHARDPLAN_STORE_FD", listener);
  else
    close(listener);
  if (!launch.share_gpu) return;
  // reference: NCCL takes ranks of one host id and GPU for duplicates (init.cc); with ids of their
  // own they are other nodes, which meet over sockets.
  setenv("NCCL_HOSTID", fmt::format("shardplan-{}", rank).c_str(), 1);
  SetDefault("NCCL_SOCKET_IFNAME", "lo");
  SetDefault("NCCL_IB_DISABLE", "1");
  SetDefault("NCCL_NVLS_ENABLE", "0");
  SetDefault("NCCL_MAX_CTAS", "4");
}

[[noreturn]] void Become(const Launch& launch, int rank, int port, int listener, int out, int err,
                         pid_t group, pid_t parent, const std::string& program) {
  setpgid(0, group);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before that
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  SetEnvironment(launch, rank, port, listener);
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& word : launch.arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const std::string message = fmt::format(
      "shardplan: {} cannot be run: {}; SHARDPLAN_PROBE names it\n", program, std::strerror(errno));
  if (write(STDERR_FILENO, message.data(), message.size()) < 0) _exit(126);
  _exit(127);
}

class Group {
 public:
  explicit Group(const Launch& launch) : launch_(launch) {}
  ~Group() {
    Kill(SIGKILL);
    while (Running()) Reap(0);
    for (Rank& rank : ranks_)
      for (Reader* reader : {&rank.out, &rank.err})
        if (reader->descriptor >= 0) close(reader->descriptor);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Result<void> Start() {
    const Result<std::pair<int, int>> listener = ListenOnLoopback();
    if (!listener) return tl::unexpected(listener.error());
    const std::string program = ProbeProgram();
    const pid_t self = getpid();
    for (int rank = 0; rank < launch_.processes; ++rank) {
      std::array<int, 2> out{}, err{};
      if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0)
        return Failed("pipe");
      const pid_t leader = ranks_.empty() ? 0 : ranks_.front().pid;
      const pid_t child = fork();
      if (child == 0)
        Become(launch_, rank, listener->second, listener->first, out[1], err[1], leader, self,
               program);
      close(out[1]);
      close(err[1]);
      if (child < 0) return Failed("fork");
      setpgid(child, leader == 0 ? child : leader);  // here too: whoever comes first
      ranks_.push_back({child, {out[0], {}}, {err[0], {}}});
      group_ = ranks_.front().pid;
    }
    close(listener->first);
    return {};
  }

  void Kill(int signal) const {
    if (Running()) killpg(group_, signal);
  }
  bool Running() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.pid > 0; });
  }
  bool failed() const { return code_ != 0; }
  int code() const { return code_; }

  // Waits a little for output, and hands it on; false once all pipes are closed.
  bool Pump(const std::function<void(const std::string&)>& on_line) {
    std::vector<pollfd> polled;
    std::vector<std::pair<Reader*, bool>> readers;
    for (Rank& rank : ranks_)
      for (const auto& [reader, is_out] : {std::pair(&rank.out, true), std::pair(&rank.err, false)})
        if (reader->descriptor >= 0) {
          polled.push_back({reader->descriptor, POLLIN, 0});
          readers.emplace_back(reader, is_out);
        }
    if (polled.empty()) return false;
    if (poll(polled.data(), polled.size(), 100) <= 0) return true;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Reader& reader = *readers[i].first;
      const bool more =
          readers[i].second ? reader.Read(on_line) : reader.Read([this](const auto& line) {
            if (said_.insert(line).second) std::fputs((line + "\n").c_str(), stderr);
          });
      if (more) continue;
      close(reader.descriptor);
      reader.descriptor = -1;
    }
    return true;
  }

  void Reap(int flags = WNOHANG) {
    for (Rank& rank : ranks_) {
      int status = 0;
      if (rank.pid == 0 || waitpid(rank.pid, &status, flags) != rank.pid) continue;
      const auto index = &rank - ranks_.data();
      rank.pid = 0;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
      if (WIFSIGNALED(status) && !ending_)
        std::fputs(
            fmt::format("shardplan: rank {} was ended by {}\n", index, strsignal(WTERMSIG(status)))
                .c_str(),
            stderr);
      if (code != 0)
        code_ = std::max(code_, code == kUsage || code == kInterrupted ? code : kFailed);
    }
  }
  // From here on ranks that a signal ends are no surprise.
  void End() { ending_ = true; }

 private:
  static tl::unexpected<Error> Failed(const char* call) {
    return tl::unexpected(
        Error{Code::kInternal, fmt::format("shardplan: {}: {}", call, std::strerror(errno))});
  }

  const Launch& launch_;
  std::vector<Rank> ranks_;
  pid_t group_ = 0;
  std::set<std::string> said_;
  int code_ = 0;
  bool ending_ = false;
};
}  // namespace

std::string ProbeProgram() {
  if (const char* named = std::getenv("SHARDPLAN_PROBE")) return named;
  std::error_code none;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "shardplan-probe";
  return std::filesystem::exists(beside, none) ? beside.string() : "shardplan-probe";
}

Result<int> RunRanks(const Launch& launch, const std::function<void(const std::string&)>& on_line) {
  const SignalGuard signals;
  Group group(launch);
  if (const Result<void> started = group.Start(); !started) return tl::unexpected(started.error());
  const Clock::time_point begin = Clock::now();
  std::optional<Clock::time_point> kill_at;
  const auto end_within = [&](std::chrono::seconds patience) {
    const Clock::time_point at = Clock::now() + patience;
    kill_at = kill_at ? std::min(*kill_at, at) : at;
  };
  bool told = false, overdue = false;
  while (group.Pump(on_line) || group.Running()) {
    group.Reap();
    if (signalled != 0 && !told) {
      told = true;
      group.End();
      group.Kill(SIGTERM);
      end_within(kAfterSignal);
    }
    if (group.failed() && !kill_at) end_within(kAfterFailure);
    const auto limit = std::chrono::duration<double>(launch.deadline.value);
    if (launch.deadline.value > 0 && Clock::now() - begin > limit + kAfterDeadline) overdue = true;
    if (overdue || (kill_at && Clock::now() > *kill_at)) {
      group.End();
      group.Kill(SIGKILL);
    }
  }
  if (signalled != 0) return kInterrupted;
  if (overdue)
    Complain(
        fmt::format("the deadline of {:.3g} s has passed, ranks killed", launch.deadline.value),
        kFailed);
  return overdue ? kFailed : group.code();
}
}  // namespace shardplan
