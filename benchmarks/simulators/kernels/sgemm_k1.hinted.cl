// K1 for PoCL: the barrier is not needed, but it separates eight steps of the loop, so that PoCL
// vectorises them across work-items. n and m must be multiples of the group, p of 8.
__kernel void sgemm_k1(__global float* a, __global const float* b, __global const float* c, int n, int m, int p)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int j = get_group_id(1) * get_local_size(1) + get_local_id(1);
    float sum = 0.0f;
    for (int k0 = 0; k0 < p; k0 += 8) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = k0; k < k0 + 8; k++) sum += b[i + n * k] * c[k + p * j];
    }
    a[i + n * j] = sum;
}
