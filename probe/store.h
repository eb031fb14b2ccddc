// SPDX-License-Identifier: Apache-2.0
// The store by which ranks meet: keys with values, gatherings, and every rank's heartbeat.
//
// Rank 0 serves it over TCP from a thread. A client is one connection, used by one thread. The
// protocol is private to one version of the program.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "planner/base/quantity.h"
#include "planner/base/result.h"
#include "probe/watch.h"

namespace shardplan::probe {

// What a rank says of itself, and the server adds.
struct Beat {
  enum class State { kUnseen, kAlive, kDone, kFaulted, kGone };
  State state = State::kUnseen;  // kGone: its connection closed before it was done
  long steps = 0;                // Activity of watch.h
  std::string doing;
  Seconds busy;       // with that
  std::string fault;  // why it ends, where it does
  Seconds age;        // since the server heard it
};

class StoreServer {
 public:
  // Serves `listener`, a listening socket that it takes over.
  StoreServer(int listener, int ranks);
  // Ends once all clients have gone, or after `patience_`.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::thread thread_;
};

// A socket that listens on `port` of all addresses; 0 picks a free one.
Result<int> ListenOn(int port);

class StoreClient {
 public:
  // Tries again until the server is there, `patience` at most.
  static Result<std::unique_ptr<StoreClient>> Connect(const std::string& address, int port,
                                                      Seconds patience, const Watch* watch);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  Result<void> Set(const std::string& key, const std::string& value);
  // Waits until the key is set.
  Result<std::string> Get(const std::string& key, Seconds patience);
  // The values that `size` clients give under `key`, by their `index`, once all have.
  Result<std::vector<std::string>> Gather(const std::string& key, int index, int size,
                                          const std::string& value, Seconds patience);
  // Tells this rank's beat and returns all ranks'. `mine.age` is not read.
  Result<std::vector<Beat>> Exchange(int rank, const Beat& mine, Seconds patience);
  // The address by which this machine reaches the server.
  std::string LocalAddress() const;

 private:
  StoreClient(int socket, const Watch* watch) : socket_(socket), watch_(watch) {}
  // Code::kDeadlineExceeded after `patience`, kUnavailable where the server has gone. Either way
  // the connection is of no more use.
  Result<std::string> Ask(const std::string& request, Seconds patience);

  int socket_;
  const Watch* watch_;  // ends waiting where it is cancelled; may be null
};
}  // namespace shardplan::probe
