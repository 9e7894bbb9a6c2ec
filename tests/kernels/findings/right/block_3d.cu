// %%cuda block_3d
// Every element plus the element one plane further, which another warp has loaded.
extern "C" __global__ void next_plane(const float* x, float* out)
{
    __shared__ float s[4][4][8];
    int i = ((blockIdx.x * 4 + threadIdx.z) * 4 + threadIdx.y) * 8 + threadIdx.x;
    s[threadIdx.z][threadIdx.y][threadIdx.x] = x[i];
    __syncthreads();
    out[i] = s[threadIdx.z][threadIdx.y][threadIdx.x] + s[(threadIdx.z + 1) % 4][threadIdx.y][threadIdx.x];
}
