// A whole CUDA C program: it copies an array with a kernel and reports the bandwidth.
//
// Compile and run it on a machine with a CUDA GPU and the CUDA Toolkit:
//
//     nvcc -O3 -arch=native -o copy copy.cu
//     ./copy
//
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Every call of the runtime returns an error code. Check all of them.
#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t error = (call);                                                        \
        if (error != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(EXIT_FAILURE);                                                            \
        }                                                                                  \
    } while (0)

// Each thread copies one element.
__global__ void copy(const float* from, float* to, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)                               // the last block may hang over the end
        to[i] = from[i];
}

int main()
{
    const int count = 512 * 512 * 512;           // the grid of this lab
    const size_t bytes = count * sizeof(float);
    const int threads = 256;                     // in a block
    const int blocks = (count + threads - 1) / threads;    // rounded up
    const int warm_up = 3, repetitions = 21;

    cudaDeviceProp gpu;
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));

    std::vector<float> input(count), output(count);        // in the host's memory
    for (int i = 0; i < count; ++i)
        input[i] = (float)(i % 1000);

    float *from, *to;                            // in the device's memory
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemcpy(from, input.data(), bytes, cudaMemcpyHostToDevice));

    // A launch returns before the kernel has run. Events are recorded by the GPU itself.
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int launch = 0; launch < warm_up + repetitions; ++launch) {
        CHECK(cudaEventRecord(begin));
        copy<<<blocks, threads>>>(from, to, count);
        CHECK(cudaGetLastError());               // a launch that is not possible
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));        // wait; reports errors of the kernel
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (launch >= warm_up)
            times.push_back(ms);
    }

    CHECK(cudaMemcpy(output.data(), to, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < count; ++i)
        wrong += output[i] != input[i];

    std::sort(times.begin(), times.end());
    float median = times[repetitions / 2];
    printf("%s, driver for CUDA %d.%d, runtime %d.%d\n", gpu.name, driver / 1000, driver % 1000 / 10,
           runtime / 1000, runtime % 1000 / 10);
    printf("%d blocks of %d threads, %d elements, %d wrong\n", blocks, threads, count, wrong);
    printf("median of %d launches: %.4f ms, %.0f GB/s\n", repetitions, median, 2 * bytes / median / 1e6);

    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
