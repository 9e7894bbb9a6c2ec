// %%cuda math_functions
// The float functions of a first course, exact and fast ones.
extern "C" __global__ void elementary(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float* o = out + i;
    o[0 * n] = sinf(v);
    o[1 * n] = cosf(v);
    o[2 * n] = tanf(v);
    o[3 * n] = expf(v);
    o[4 * n] = logf(v);
    o[5 * n] = powf(v, 1.7f);
    o[6 * n] = sqrtf(v);
    o[7 * n] = rsqrtf(v);
    o[8 * n] = cbrtf(v);
    o[9 * n] = atan2f(v, 2.0f);
    o[10 * n] = tanhf(v);
    o[11 * n] = fmodf(v, 0.7f);
    o[12 * n] = hypotf(v, 3.0f);
    o[13 * n] = erff(v);
    o[14 * n] = exp2f(v);
    o[15 * n] = log10f(v);
}

extern "C" __global__ void fast(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float* o = out + i;
    o[0 * n] = __sinf(v);
    o[1 * n] = __cosf(v);
    o[2 * n] = __expf(v);
    o[3 * n] = __logf(v);
    o[4 * n] = __fdividef(1.0f, v);
    o[5 * n] = __fsqrt_rn(v);
    o[6 * n] = __frcp_rn(v);
    o[7 * n] = __fmul_rn(v, v) + copysignf(1.0f, v - 1.0f) + fminf(v, 1.0f) + fmaxf(v, 1.0f) + fdimf(v, 1.0f);
}
