// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "probe/store.h"
#include "probe/store_protocol.h"

namespace shardplan::probe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kGlance = 20;  // milliseconds between two looks at the watch

Clock::time_point After(Seconds patience) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience.value));
}

tl::unexpected<Error> Unavailable(std::string message) {
  return tl::unexpected(Error{Code::kUnavailable, std::move(message)});
}

// One try; -1 where nobody listens.
int ConnectOnce(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  int connected = -1;
  for (const addrinfo* one = found; one != nullptr && connected < 0; one = one->ai_next) {
    const int candidate = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (candidate < 0) continue;
    if (connect(candidate, one->ai_addr, one->ai_addrlen) == 0)
      connected = candidate;
    else
      close(candidate);
  }
  freeaddrinfo(found);
  return connected;
}
}  // namespace

Result<std::unique_ptr<StoreClient>> StoreClient::Connect(const std::string& address, int port,
                                                          Seconds patience, const Watch* watch) {
  const Clock::time_point deadline = After(patience);
  while (true) {
    const int connected = ConnectOnce(address, port);
    if (connected >= 0) {
      const int on = 1;
      setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return std::unique_ptr<StoreClient>(new StoreClient(connected, watch));
    }
    if (watch != nullptr && watch->cancelled()) return tl::unexpected(*watch->reason());
    if (Clock::now() >= deadline)
      return Unavailable(
          fmt::format("rank 0 does not answer at {}:{} ({}); MASTER_ADDR and "
                      "MASTER_PORT say where it is",
                      address, port, std::strerror(errno)));
    poll(nullptr, 0, kGlance);
  }
}

StoreClient::~StoreClient() { close(socket_); }

Result<std::string> StoreClient::Ask(const std::string& request, Seconds patience) {
  const Clock::time_point deadline = After(patience);
  std::string out = Frame(request), in;
  while (true) {
    pollfd polled{socket_, static_cast<short>(out.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&polled, 1, kGlance);
    if (!out.empty() && (polled.revents & POLLOUT)) {
      const ssize_t sent = send(socket_, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) out.erase(0, static_cast<std::size_t>(sent));
    }
    if (polled.revents & (POLLIN | POLLHUP | POLLERR)) {
      std::array<char, 65536> buffer;
      const ssize_t got = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) in.append(buffer.data(), static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return Unavailable("the connection to rank 0, which holds the store, was closed");
      if (std::optional<std::string> answer = TakeFrame(in)) return *std::move(answer);
    }
    if (watch_ != nullptr && watch_->cancelled()) return tl::unexpected(*watch_->reason());
    if (Clock::now() >= deadline)
      return tl::unexpected(
          Error{Code::kDeadlineExceeded, fmt::format("no answer within {:.3g} s", patience.value)});
  }
}

Result<void> StoreClient::Set(const std::string& key, const std::string& value) {
  WireWriter request;
  request.Number(static_cast<int>(StoreOp::kSet)).Text(key).Text(value);
  const Result<std::string> answer = Ask(request.Take(), {60});
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Result<std::string> StoreClient::Get(const std::string& key, Seconds patience) {
  WireWriter request;
  request.Number(static_cast<int>(StoreOp::kGet)).Text(key);
  return Ask(request.Take(), patience);
}

Result<std::vector<std::string>> StoreClient::Gather(const std::string& key, int index, int size,
                                                     const std::string& value, Seconds patience) {
  WireWriter request;
  request.Number(static_cast<int>(StoreOp::kGather)).Text(key).Number(index).Number(size);
  request.Text(value);
  const Result<std::string> answer = Ask(request.Take(), patience);
  if (!answer) return tl::unexpected(answer.error());
  WireReader reader(*answer);
  std::vector<std::string> values;
  for (int i = 0; i < size; ++i) values.push_back(reader.Text());
  return values;
}

Result<std::vector<Beat>> StoreClient::Exchange(int rank, const Beat& mine, Seconds patience) {
  WireWriter request;
  request.Number(static_cast<int>(StoreOp::kBeat)).Number(rank);
  WriteBeat(request, mine);
  const Result<std::string> answer = Ask(request.Take(), patience);
  if (!answer) return tl::unexpected(answer.error());
  WireReader reader(*answer);
  std::vector<Beat> beats;
  while (true) {
    Beat beat = ReadBeat(reader);
    if (!reader.ok()) return beats;
    beats.push_back(std::move(beat));
  }
}

std::string StoreClient::LocalAddress() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> name{};
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket_, raw, &size) != 0 ||
      getnameinfo(raw, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return "127.0.0.1";
  const std::string text = name.data();
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 as the server's IPv6 socket shows it
  return text.compare(0, kMapped.size(), kMapped) == 0 ? text.substr(kMapped.size()) : text;
}
}  // namespace shardplan::probe
