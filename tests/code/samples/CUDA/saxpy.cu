// Vectors on a device.
#include <cuda_runtime.h>
#include "vector.cuh"

#define BLOCK 256
#define CHECK(call) check((call), __FILE__, __LINE__)

__constant__ float weights[16];
__device__ int counter;

/// a * x + y, one element a thread.
__global__ void saxpy(int n, float a, const float *__restrict__ x, float *y) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = scaled(a, x[i]) + y[i];
  }
  __syncthreads();
  atomicAdd(&counter, 1);
}

template <typename T>
__device__ __forceinline__ T scaled(T factor, T value) {
  return factor * value;
}

template <typename T, int Width>
__launch_bounds__(BLOCK)
__global__ void reduce(T *out, const T *in) {
  out[0] = warp::sum<T>(in[threadIdx.x]);
}

class Vector {
 public:
  explicit Vector(int size) : size_(size) { CHECK(cudaMalloc(&data_, size * sizeof(float))); }
  ~Vector() { cudaFree(data_); }
  __host__ __device__ int size() const { return size_; }

 private:
  int size_;
  float *data_;
};

static void check(cudaError_t code, const char *file, int line) {
  if (code != cudaSuccess) {
    fail(cudaGetErrorString(code), file, line);
  }
}

int main() {
  Vector x(1 << 20);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  saxpy<<<(x.size() + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(x.size(), 2.0f, nullptr, nullptr);
  reduce<float, 32><<<1, BLOCK>>>(nullptr, nullptr);
  return 0;
}
