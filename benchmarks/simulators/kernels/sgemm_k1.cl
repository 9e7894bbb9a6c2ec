// K1: column-major a = b c, one work-item per element, all operands from global memory; i runs over items.
__kernel void sgemm_k1(__global float* a, __global const float* b, __global const float* c, int n, int m, int p)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int j = get_group_id(1) * get_local_size(1) + get_local_id(1);
    if (i >= n || j >= m) return;
    float sum = 0.0f;
    for (int k = 0; k < p; k++) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
