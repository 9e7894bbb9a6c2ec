// %%cuda conversions
// Between bytes, shorts, ints, long longs, floats and doubles, with every rounding and with saturation.
extern "C" __global__ void narrow(const int* x, signed char* c, unsigned char* uc, short* s, unsigned short* us,
                                  long long* wide, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    c[i] = (signed char)x[i];
    uc[i] = (unsigned char)x[i];
    s[i] = (short)(x[i] * 3);
    us[i] = (unsigned short)(c[i] + uc[i]);
    wide[i] = (long long)s[i] * us[i] - (unsigned)x[i];
}

extern "C" __global__ void roundings(const float* x, int* toward_zero, int* nearest, int* down, int* up,
                                     unsigned* saturated, float* whole, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    toward_zero[i] = (int)v;
    nearest[i] = __float2int_rn(v);
    down[i] = __float2int_rd(v);
    up[i] = __float2int_ru(v);
    saturated[i] = __float2uint_rz(v);
    whole[i] = floorf(v) + 10.0f * ceilf(v) + 100.0f * truncf(v) + 1000.0f * rintf(v) + __saturatef(v);
}

extern "C" __global__ void floats(const double* d, float* f, long long* l, double* back, unsigned* bits, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    f[i] = (float)d[i];
    l[i] = (long long)d[i];
    back[i] = (double)f[i] + (double)l[i];
    bits[i] = __float_as_uint(f[i]);
}
