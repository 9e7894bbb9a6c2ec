// %%cuda vector_types
// 8- and 16-byte vectors and packed bytes: complex products, int4 loads, uchar4 pixels.
extern "C" __global__ void complex_product(const float2* a, const float2* b, float2* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 u = a[i], v = b[i];
    out[i] = make_float2(u.x * v.x - u.y * v.y, u.x * v.y + u.y * v.x);
}

extern "C" __global__ void turn_lanes(const int4* in, int4* out, const double2* d, double* norm, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    int4 v = in[i];
    out[i] = make_int4(v.w, v.x, v.y, v.z);
    double2 w = d[i];
    norm[i] = w.x * w.x + w.y * w.y;
}

extern "C" __global__ void grey(const uchar4* pixels, unsigned char* out, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    uchar4 p = pixels[i];
    out[i] = (p.x * 77 + p.y * 150 + p.z * 29) >> 8;
}
