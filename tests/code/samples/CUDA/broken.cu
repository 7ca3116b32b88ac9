__device__ int before(int a) { return a + 1; }

__global__ void torn(int a, ) {
  if (a > ) {
    call(;
  }
}

__global__ void after(int *out) { out[0] = before(1); }
