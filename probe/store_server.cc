// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <optional>

#include "probe/store.h"
#include "probe/store_protocol.h"
#include "probe/wire.h"

namespace shardplan::probe {
namespace {

using Clock = std::chrono::steady_clock;
// How long a server outlives its rank for others to learn why it ends.
constexpr std::chrono::seconds kLinger{3};

struct Connection {
  int socket = -1;
  std::string in, out;
  std::optional<int> rank;  // whose heartbeats it carries
  bool closed = false;
};

struct Gathering {
  std::vector<std::optional<std::string>> values;
  std::vector<Connection*> waiting;
  int arrived = 0;
};

struct Heard {
  Beat beat;
  Clock::time_point at;
};
}  // namespace

class StoreServer::Service {
 public:
  Service(int listener, int ranks)
      : listener_(listener),
        wake_(eventfd(0, EFD_CLOEXEC)),
        heard_(static_cast<std::size_t>(ranks)) {}
  ~Service() {
    for (const Connection& connection : connections_) close(connection.socket);
    close(listener_);
    close(wake_);
  }

  void Run() {
    while (!Ended()) {
      std::vector<pollfd> polled{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
      for (const Connection& connection : connections_) {
        const int wanted = connection.out.empty() ? POLLIN : POLLIN | POLLOUT;
        polled.push_back({connection.socket, static_cast<short>(wanted), 0});
      }
      // A stop that waits for clients to go looks at the clock now and then.
      poll(polled.data(), polled.size(), stopping_ ? 50 : -1);
      std::size_t index = 2;
      for (Connection& connection : connections_) {
        const short events = polled[index++].revents;
        if (events & (POLLIN | POLLHUP | POLLERR)) Receive(connection);
        if (!connection.closed) Send(connection);
      }
      if (polled[0].revents & POLLIN) Accept();
      // Answers that others' requests made ready.
      for (Connection& connection : connections_)
        if (!connection.closed) Send(connection);
      Sweep();
    }
  }

  void Stop() {
    stop_at_ = Clock::now() + kLinger;
    stopping_ = true;
    const std::uint64_t one = 1;
    if (write(wake_, &one, sizeof one) < 0) return;  // poll then ends by itself
  }

 private:
  bool Ended() const {
    return stopping_ && (connections_.empty() || Clock::now() >= stop_at_.load());
  }

  void Accept() {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connections_.push_back({.socket = socket});
  }

  void Receive(Connection& connection) {
    std::array<char, 65536> buffer;
    while (true) {
      const ssize_t got = recv(connection.socket, buffer.data(), buffer.size(), 0);
      if (got > 0) {
        connection.in.append(buffer.data(), static_cast<std::size_t>(got));
        continue;
      }
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) connection.closed = true;
      break;
    }
    while (const std::optional<std::string> request = TakeFrame(connection.in))
      Serve(connection, *request);
  }

  static void Send(Connection& connection) {
    while (!connection.out.empty()) {
      const ssize_t sent =
          send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        if (errno != EAGAIN && errno != EINTR) connection.closed = true;
        return;
      }
      connection.out.erase(0, static_cast<std::size_t>(sent));
    }
  }

  // Drops the connections that closed, from all that waits too.
  void Sweep() {
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (!it->closed) {
        ++it;
        continue;
      }
      if (it->rank) {
        Beat& beat = heard_[static_cast<std::size_t>(*it->rank)].beat;
        if (beat.state == Beat::State::kAlive) beat.state = Beat::State::kGone;
      }
      for (auto& [key, waiting] : waiting_) std::erase(waiting, &*it);
      for (auto& [key, gathering] : gatherings_) std::erase(gathering.waiting, &*it);
      close(it->socket);
      it = connections_.erase(it);
    }
  }

  void Serve(Connection& connection, const std::string& request) {
    WireReader reader(request);
    switch (static_cast<StoreOp>(reader.Number())) {
      case StoreOp::kSet: {
        const std::string key = reader.Text();
        values_[key] = reader.Text();
        for (Connection* waiting : waiting_[key]) waiting->out += Frame(values_[key]);
        waiting_.erase(key);
        connection.out += Frame("");
        return;
      }
      case StoreOp::kGet: {
        const std::string key = reader.Text();
        if (const auto found = values_.find(key); found != values_.end())
          connection.out += Frame(found->second);
        else
          waiting_[key].push_back(&connection);
        return;
      }
      case StoreOp::kGather:
        Gather(connection, reader);
        return;
      case StoreOp::kBeat:
        Exchange(connection, reader);
        return;
    }
    connection.closed = true;  // not one of ours
  }

  void Gather(Connection& connection, WireReader& reader) {
    const std::string key = reader.Text();
    const auto index = static_cast<std::size_t>(reader.Number());
    const auto size = static_cast<std::size_t>(reader.Number());
    Gathering& gathering = gatherings_[key];
    gathering.values.resize(size);
    if (index >= size || gathering.values[index]) {
      connection.closed = true;
      return;
    }
    gathering.values[index] = reader.Text();
    gathering.waiting.push_back(&connection);
    if (++gathering.arrived < static_cast<int>(size)) return;
    WireWriter answer;
    for (const auto& value : gathering.values) answer.Text(*value);
    const std::string frame = Frame(answer.Take());
    for (Connection* waiting : gathering.waiting) waiting->out += frame;
    gatherings_.erase(key);
  }

  void Exchange(Connection& connection, WireReader& reader) {
    const auto rank = static_cast<std::size_t>(reader.Number());
    if (rank >= heard_.size()) {
      connection.closed = true;
      return;
    }
    connection.rank = static_cast<int>(rank);
    const Clock::time_point now = Clock::now();
    heard_[rank] = {ReadBeat(reader), now};
    WireWriter answer;
    for (Heard& heard : heard_) {
      if (heard.beat.state != Beat::State::kUnseen)
        heard.beat.age = {std::chrono::duration<double>(now - heard.at).count()};
      WriteBeat(answer, heard.beat);
    }
    connection.out += Frame(answer.Take());
  }

  int listener_, wake_;
  std::atomic<bool> stopping_ = false;
  std::atomic<Clock::time_point> stop_at_{};
  std::list<Connection> connections_;  // addresses stay
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<Connection*>> waiting_;
  std::map<std::string, Gathering> gatherings_;
  std::vector<Heard> heard_;
};

StoreServer::StoreServer(int listener, int ranks)
    : service_(std::make_unique<Service>(listener, ranks)), thread_([this] { service_->Run(); }) {}

StoreServer::~StoreServer() {
  service_->Stop();
  thread_.join();
}

Result<int> ListenOn(int port) {
  const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1, off = 0;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (listener >= 0) {
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        listen(listener, 1024) == 0)
      return listener;
  }
  const std::string why = std::strerror(errno);
  if (listener >= 0) close(listener);
  return tl::unexpected(Error{
      Code::kUnavailable, fmt::format("port {} cannot be served: {}; SHARDPLAN_STORE_PORT names "
                                      "another, the same on all ranks",
                                      port, why)});
}
}  // namespace shardplan::probe
