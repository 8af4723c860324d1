/* SPDX-License-Identifier: Apache-2.0 */
/* A program with NVTX ranges and without profkit: several domains, threads, registered strings, payloads, start and end.
 * Usage: nvtx_ranges STEPS [abort|kill|exit|thread_exit|crossed|many|started|elsewhere|closed|fork]. Prints "done" on stdout, and its exit code is 3. */
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static nvtxDomainHandle_t solver;
static nvtxStringHandle_t matrix;

static void rest(long microseconds) {
  struct timespec const time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

static nvtxEventAttributes_t attributes(void) {
  nvtxEventAttributes_t result;
  memset(&result, 0, sizeof result);
  result.version = NVTX_VERSION;
  result.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return result;
}

static void solve(int level) {
  nvtxEventAttributes_t range = attributes();
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = matrix;
  range.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  range.payload.iValue = level;
  nvtxDomainRangePushEx(solver, &range);
  rest(200);
  nvtxDomainRangePop(solver);
}

static nvtxRangeId_t begin_load(void) {
  nvtxEventAttributes_t range = attributes();
  range.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  range.message.unicode = L"lade \u00fc\u20ac";
  return nvtxRangeStartEx(&range);
}

static void* end_load(void* number) {
  rest(100);
  nvtxRangePushA("worker");
  nvtxRangeEnd(*(nvtxRangeId_t*)number);
  nvtxRangePop();
  return NULL;
}

static void* leave(void* unused) {
  (void)unused;
  exit(5);
}

static void* end_step(void* number) {
  nvtxRangeEnd(*(nvtxRangeId_t*)number);
  return NULL;
}

/* Steps between a start and an end, with a range that ends in the next step. */
static void start_steps(int steps, int ends_elsewhere) {
  nvtxRangeId_t ahead = nvtxRangeStartA("prefetch");
  for (int i = 0; i < steps; ++i) {
    char name[64];
    snprintf(name, sizeof name, "iteration %d", i);
    nvtxRangeId_t number = nvtxRangeStartA(name);
    nvtxRangeId_t const before = ahead;
    solve(0);
    nvtxRangeEnd(before);
    ahead = nvtxRangeStartA("prefetch");
    solve(1);
    pthread_t thread;
    if (ends_elsewhere && pthread_create(&thread, NULL, end_step, &number) == 0) {
      pthread_join(thread, NULL);
    } else {
      nvtxRangeEnd(number);
    }
  }
  nvtxRangeEnd(ahead);
}

/* Closes all descriptors but the standard streams, and opens files of its own with their numbers. */
static void replace_files(void) {
  int file = 3;
  for (; file < 1024; ++file) close(file);
  do {
    file = open("data", O_WRONLY | O_CREAT | O_APPEND, 0600);
  } while (file >= 0 && file < 200);
}

int main(int argc, char** argv) {
  int const steps = argc > 1 ? atoi(argv[1]) : 10;
  char const* const end = argc > 2 ? argv[2] : "";
  solver = nvtxDomainCreateA("solver");
  matrix = nvtxDomainRegisterStringA(solver, "matrix");
  nvtxRangePushA("setup");
  rest(500);
  nvtxRangePop();
  int const is_elsewhere = strcmp(end, "elsewhere") == 0;
  if (is_elsewhere || strcmp(end, "started") == 0) start_steps(steps, is_elsewhere);
  for (int i = 0; i < steps && !is_elsewhere && strcmp(end, "started") != 0; ++i) {
    char name[64];
    snprintf(name, sizeof name, "Train step %d", i);
    nvtxRangePushA(name);
    nvtxRangeId_t first = begin_load();
    nvtxRangeId_t const second = nvtxRangeStartA("overlapping");
    pthread_t thread;
    pthread_create(&thread, NULL, end_load, &first);
    solve(0);
    solve(1);
    pthread_join(thread, NULL);
    nvtxRangeEnd(second);
    if (strcmp(end, "crossed") == 0) {
      nvtxEventAttributes_t range = attributes();
      range.messageType = NVTX_MESSAGE_TYPE_ASCII;
      range.message.ascii = "outer";
      nvtxDomainRangePushEx(solver, &range);
      nvtxRangePushA("inner");
      nvtxDomainRangePop(solver);
      nvtxRangePop();
    }
    for (int k = 0; strcmp(end, "many") == 0 && k < 2000; ++k) {
      snprintf(name, sizeof name, "item %c%d", 'a' + i, k);
      nvtxRangePushA(name);
      nvtxRangePop();
    }
    nvtxRangePop();
  }
  printf("done\n");
  fflush(stdout);
  fprintf(stderr, "a word on stderr\n");
  if (strcmp(end, "closed") == 0) replace_files();
  if (strcmp(end, "fork") == 0) {
    pid_t const child = fork();
    if (child == 0) {
      nvtxRangePushA("Train step 0");
      nvtxRangePop();
      return 3;
    }
    waitpid(child, NULL, 0);
  }
  if (strcmp(end, "abort") == 0) abort();
  if (strcmp(end, "kill") == 0) kill(getpid(), SIGTERM);
  if (strcmp(end, "exit") == 0) _exit(4);
  if (strcmp(end, "thread_exit") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave, NULL);
    pthread_join(thread, NULL);
  }
  return 3;
}
