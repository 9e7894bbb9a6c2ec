// The naive 7-point stencil for PoCL: the barrier is not needed, but it separates the loop body,
// so that PoCL vectorises it across work-items.
__kernel void stencil_naive(float fac, __global const float* A0, __global float* Anext, int nx, int ny, int nz)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int j = get_group_id(1) * get_local_size(1) + get_local_id(1);
    int plane = nx * ny;
    for (int k = 1; k < nz - 1; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i >= 1 && j >= 1 && i < nx - 1 && j < ny - 1) {
            int p = i + nx * j + plane * k;
            Anext[p] = A0[p + 1] + A0[p - 1] + A0[p + nx] + A0[p - nx] + A0[p + plane] + A0[p - plane]
                     - 6.0f * A0[p] / (fac * fac);
        }
    }
}
