// %%cuda fft_shared
// A Fourier transform of 256 points a block: bit-reversed into shared memory, then eight radix-2 stages.
#define N 256
extern "C" __global__ void fft(const float2* in, float2* out)
{
    __shared__ float2 s[N];
    const int t = threadIdx.x;   // N / 2 threads
    for (int k = t; k < N; k += N / 2) s[__brev(k) >> 24] = in[blockIdx.x * N + k];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        const int j = t % half, low = t / half * 2 * half + j;
        float sine, cosine;
        sincospif(-(float)j / half, &sine, &cosine);
        const float2 a = s[low], b = s[low + half];
        const float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
        s[low] = make_float2(a.x + turned.x, a.y + turned.y);
        s[low + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
    for (int k = t; k < N; k += N / 2) out[blockIdx.x * N + k] = s[k];
}
