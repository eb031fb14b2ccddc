// SPDX-License-Identifier: Apache-2.0
#include "probe/cuda/cuda_device.h"

#include <cctype>
#include <chrono>
#include <fstream>
#include <thread>

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "probe/cuda/cuda_error.h"
#include "probe/cuda/nccl_communicator.h"
#include "probe/cuda/nothing.h"
#include "probe/cuda/pattern_kernels.h"
#include "probe/devices.h"

namespace shardplan::probe {
namespace {

std::string VersionOf(int version) {  // CUDA's 1000 * major + 10 * minor
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string CudnnVersion() {
#ifdef SHARDPLAN_KERNELS_ATTENTION
  return kernels::CudnnVersion();
#else
  return "";
#endif
}

// The kernel module's, as in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...";
// where it cannot be read, the newest CUDA that it runs.
std::string DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos)
      return word;
  int newest = 0;
  cudaDriverGetVersion(&newest);
  return "CUDA " + VersionOf(newest);
}
}  // namespace

Result<std::shared_ptr<Event>> CudaStream::Record() {
  cudaEvent_t event = nullptr;
  if (const auto made = Check(cudaEventCreate(&event), "cudaEventCreate"); !made)
    return tl::unexpected(made.error());
  auto owned = std::make_shared<CudaEvent>(event);
  if (const auto done = Check(cudaEventRecord(event, stream_), "cudaEventRecord"); !done)
    return tl::unexpected(done.error());
  return owned;
}

Result<void> CudaStream::After(const std::shared_ptr<Event>& event) {
  return Check(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(*event).get(), 0),
               "cudaStreamWaitEvent");
}

Result<void> CudaStream::Wait() {
  // Spins for what ends soon, so that short samples follow each other closely.
  const auto begin = std::chrono::steady_clock::now();
  cudaError_t status = cudaErrorNotReady;
  while ((status = cudaStreamQuery(stream_)) == cudaErrorNotReady) {
    if (device_.watch().cancelled()) {
      device_.Abort();
      return tl::unexpected(*device_.watch().reason());
    }
    if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(5)) continue;
    if (Result<void> health = device_.Health(); !health) return health;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return Check(status, "cudaStreamQuery");
}

Result<void> CudaDevice::Health() {
  for (CudaUser* user : users_)
    if (Result<void> health = user->Health(); !health) return health;
  return {};
}

void CudaDevice::Abort() {
  for (CudaUser* user : users_) user->Abort();
}

Result<std::unique_ptr<Device>> CudaDevice::Open(int index, Watch& watch) {
  if (const int count = CudaDevices(); index >= count)
    return tl::unexpected(
        Error{Code::kFailedPrecondition,
              fmt::format("there is no GPU {}: {} are seen here (driver, CUDA_VISIBLE_DEVICES)",
                          index, count)});
  if (const auto set = Check(cudaSetDevice(index), "cudaSetDevice"); !set)
    return tl::unexpected(set.error());
  cudaDeviceProp properties{};
  if (const auto got =
          Check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
      !got)
    return tl::unexpected(got.error());
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  std::unique_ptr<CudaDevice> device(new CudaDevice(index, watch));
  device->info_ = {.kind = "cuda",
                   .name = properties.name,
                   .driver = DriverVersion(),
                   .cuda = VersionOf(runtime),
                   .nccl = NcclVersion(),
                   .cublas = kernels::CublasLtVersion(),
                   .cudnn = CudnnVersion(),
                   .id = fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID,
                                     properties.pciBusID, properties.pciDeviceID),
                   .last_cache = static_cast<std::size_t>(properties.l2CacheSize)};
  return device;
}

Result<std::unique_ptr<Stream>> CudaDevice::MakeStream() {
  cudaStream_t stream = nullptr;
  if (const auto made =
          Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
      !made)
    return tl::unexpected(made.error());
  return std::make_unique<CudaStream>(stream, *this);
}

Result<Seconds> CudaDevice::Between(const Event& from, const Event& to) {
  float milliseconds = 0;
  const auto done =
      Check(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(from).get(),
                                 static_cast<const CudaEvent&>(to).get()),
            "cudaEventElapsedTime");
  if (!done) return tl::unexpected(done.error());
  return Seconds{milliseconds * 1e-3};
}

Result<Buffer> CudaDevice::Allocate(std::size_t bytes, Place place) {
  void* memory = nullptr;
  const std::size_t least = bytes > 0 ? bytes : 1;
  cudaError_t status = cudaSuccess;
  std::function<void(void*)> release = [](void* p) { cudaFree(p); };
  if (place == Place::kDevice) {
    status = cudaMalloc(&memory, least);
  } else if (place == Place::kPinned) {
    status = cudaMallocHost(&memory, least);
    release = [](void* p) { cudaFreeHost(p); };
  } else {
    memory = std::aligned_alloc(4096, (least + 4095) / 4096 * 4096);
    status = memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
    release = [](void* p) { std::free(p); };
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not sticky: the next call starts clean
    refused_ = bytes;
    return tl::unexpected(
        Error{Code::kResourceExhausted,
              fmt::format("out of {} memory: {}", place == Place::kDevice ? "GPU" : "host",
                          Explain(Memory()))});
  }
  if (const auto done = Check(status, "cudaMalloc"); !done) return tl::unexpected(done.error());
  const std::size_t counted = place == Place::kDevice ? bytes : 0;
  *ours_ += counted;
  return Buffer{std::shared_ptr<void>(memory,
                                      [=, ours = ours_](void* p) {
                                        release(p);
                                        *ours -= counted;
                                      }),
                bytes};
}

MemoryState CudaDevice::Memory() {
  MemoryState state{.ours = *ours_, .refused = refused_};
  cudaMemGetInfo(&state.free, &state.total);
  return state;
}

Result<void> CudaDevice::Copy(void* to, const void* from, std::size_t bytes, Stream& stream) {
  return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, CudaStream::Of(stream)),
               "cudaMemcpyAsync");
}

Result<Work> CudaDevice::Capture(const Work& work, Stream& stream) {
  const cudaStream_t raw = CudaStream::Of(stream);
  if (auto begun = Check(cudaStreamBeginCapture(raw, cudaStreamCaptureModeThreadLocal),
                         "cudaStreamBeginCapture");
      !begun)
    return tl::unexpected(begun.error());
  const Result<void> enqueued = work(stream);
  cudaGraph_t graph = nullptr;
  const Result<void> ended = Check(cudaStreamEndCapture(raw, &graph), "cudaStreamEndCapture");
  if (!enqueued) return tl::unexpected(enqueued.error());
  if (!ended) return tl::unexpected(ended.error());
  cudaGraphExec_t executable = nullptr;
  const auto made = Check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  cudaGraphDestroy(graph);
  if (!made) return tl::unexpected(made.error());
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> owned(executable,
                                                                      cudaGraphExecDestroy);
  return Work([owned, work](Stream& on) {  // `work` keeps its operands alive
    return Check(cudaGraphLaunch(owned.get(), CudaStream::Of(on)), "cudaGraphLaunch");
  });
}

Result<std::unique_ptr<Communicator>> CudaDevice::Connect(World& world,
                                                          const std::vector<int>& members,
                                                          const std::string& name,
                                                          const CommunicatorOptions& options) {
  return NcclCommunicator::Connect(*this, world, members, name, options);
}

Result<void> CudaDevice::Fill(void* array, Dtype dtype, const Pattern& pattern, const Span& span,
                              Stream& stream) {
  return Check(LaunchFill(array, dtype, pattern, span, CudaStream::Of(stream)), "filling");
}

Result<long> CudaDevice::CountWrong(const void* array, Dtype dtype, const Pattern& pattern,
                                    const Span& span, Stream& stream) {
  const Result<Buffer> counter = Allocate(sizeof(unsigned long long), Place::kPinned);
  if (!counter) return tl::unexpected(counter.error());
  auto* wrong = static_cast<unsigned long long*>(counter->at());
  *wrong = 0;
  Result<void> done = Check(
      LaunchCountWrong(array, dtype, pattern, span, wrong, CudaStream::Of(stream)), "checking");
  if (done) done = stream.Wait();
  if (!done) return tl::unexpected(done.error());
  return static_cast<long>(*wrong);
}

Result<Work> CudaDevice::Nothing() {
  return Work([](Stream& stream) {
    return Check(LaunchNothing(CudaStream::Of(stream)), "an empty kernel");
  });
}

Result<std::unique_ptr<Device>> OpenCuda(int index, Watch& watch) {
  return CudaDevice::Open(index, watch);
}

int CudaDevices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
}  // namespace shardplan::probe
