// What waits for what in a list: compute in order, blocking communication, overlapped
// communication.
#include "graph/list_builder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::graph {
namespace {

using After = std::vector<std::int32_t>;

class Lists : public testing::Test {
 protected:
  static ops::Work work(ops::Kernel kernel = ops::Kernel::stream) {
    ops::Work w;
    w.kernel = kernel;
    w.read = Bytes(1.0);
    return w;
  }
  static ops::Work matrix() { return work(ops::Kernel::gemm); }
  static collectives::Collective op(std::int64_t ranks = 2) {
    collectives::Collective c;
    c.group = {ranks, 1, ranks};
    c.bytes = Bytes(8.0);
    return c;
  }
  const After& after(std::size_t i) const { return list.at(i).after; }
  After sorted(std::size_t i) const {
    After tasks = after(i);
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  }

  Program program;
  TaskList list;
  ListBuilder b{program, list, "forward"};
};

TEST_F(Lists, ComputeTasksOnlyFollowEachOther) {
  b.compute("linear/ffn", work());
  b.compute("linear/ffn", work());
  b.compute("attention/dense_forward", work());
  ASSERT_EQ(list.size(), 3U);
  for (const Task& task : list) {
    EXPECT_EQ(task.stream, Stream::compute);
    EXPECT_TRUE(task.after.empty());  // the stream's own order suffices
    EXPECT_TRUE(std::holds_alternative<ops::Work>(task.work));
  }
  EXPECT_EQ(program.leaves,
            (std::vector<std::string>{"linear/ffn/forward", "attention/dense_forward/forward"}));
  EXPECT_EQ(list[0].leaf, list[1].leaf);
}

TEST_F(Lists, BlockingCommunicationStandsBetweenItsNeighbours) {
  b.compute("a", work());
  b.communicate(Stream::cp, "communication/cp", op());
  b.compute("b", work());
  b.compute("c", work());
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[1].stream, Stream::cp);
  EXPECT_EQ(after(1), After{0});
  EXPECT_EQ(after(2), After{1});
  EXPECT_TRUE(after(3).empty());
}

TEST_F(Lists, ASecondBlockingOperationFollowsTheFirstEvenOnAnotherStream) {
  b.compute("a", work());
  b.communicate(Stream::ep, "communication/ep", op());
  b.communicate(Stream::tp, "communication/tp", op());
  b.compute("b", work());
  EXPECT_EQ(after(1), After{0});
  EXPECT_EQ(sorted(2), (After{0, 1}));
  EXPECT_EQ(sorted(3), (After{1, 2}));
}

// A gather whose result the next matrix product takes in pieces: only what follows it waits.
TEST_F(Lists, BesideTheNextMatrixProduct) {
  b.compute("a", work());
  b.communicate_beside_next_matrix(Stream::tp, "communication/tp", op());
  b.compute("quantize", work());
  b.compute("matrix", matrix());
  b.compute("waits", work());
  b.compute("later", work());
  EXPECT_EQ(after(1), After{0});
  EXPECT_TRUE(after(2).empty());
  EXPECT_TRUE(after(3).empty());
  EXPECT_EQ(after(4), After{1});
  EXPECT_TRUE(after(5).empty());
}

TEST_F(Lists, AGroupedProductIsAMatrixProduct) {
  b.compute("a", work());
  b.communicate_beside_next_matrix(Stream::ep, "communication/ep", op());
  b.compute("experts", work(ops::Kernel::grouped_gemm));
  b.compute("waits", work());
  EXPECT_TRUE(after(2).empty());
  EXPECT_EQ(after(3), After{1});
}

// A scatter of what the last matrix product gives in pieces: it starts with the product.
TEST_F(Lists, BesideTheLastMatrixProduct) {
  b.compute("a", work());
  b.compute("matrix", matrix());
  b.communicate_beside_last_matrix(Stream::tp, "communication/tp", op());
  b.compute("waits", work());
  EXPECT_EQ(after(2), After{0});
  EXPECT_EQ(after(3), After{2});
}

TEST_F(Lists, ProductsThatAreFirstOverlapFromTheStart) {
  b.compute("matrix", matrix());
  b.communicate_beside_last_matrix(Stream::tp, "communication/tp", op());
  b.compute("waits", work());
  EXPECT_TRUE(after(1).empty());
  EXPECT_EQ(after(2), After{1});
}

TEST_F(Lists, WhatIsStartedIsWaitedForWhereItIsSaid) {
  b.compute("a", work());
  const std::int32_t task = b.start(Stream::cp, "communication/cp", op());
  EXPECT_EQ(task, 1);
  b.compute("beside", matrix());
  b.compute("beside", matrix());
  b.wait(task);
  b.compute("waits", work());
  b.compute("later", work());
  EXPECT_EQ(after(1), After{0});
  EXPECT_TRUE(after(2).empty());
  EXPECT_TRUE(after(3).empty());
  EXPECT_EQ(after(4), After{1});
  EXPECT_TRUE(after(5).empty());
}

TEST_F(Lists, OverlappedAndBlockingTogether) {
  b.compute("a", work());
  b.communicate_beside_next_matrix(Stream::tp, "communication/tp", op());
  b.communicate(Stream::cp, "communication/cp", op());
  b.compute("b", matrix());
  b.compute("c", work());
  EXPECT_EQ(after(2), After{0});  // not behind what is overlapped
  EXPECT_EQ(after(3), After{2});
  EXPECT_EQ(after(4), After{1});
}

TEST_F(Lists, CommunicationBeforeAnyComputeWaitsForNothing) {
  b.communicate(Stream::tp, "communication/tp", op());
  b.compute("a", work());
  EXPECT_TRUE(after(0).empty());
  EXPECT_EQ(after(1), After{0});
}

TEST_F(Lists, AGroupOfOneCommunicatesNothing) {
  b.compute("a", work());
  b.communicate(Stream::cp, "communication/cp", op(1));
  b.communicate_beside_next_matrix(Stream::cp, "communication/cp", op(1));
  b.communicate_beside_last_matrix(Stream::cp, "communication/cp", op(1));
  const std::int32_t nothing = b.start(Stream::cp, "communication/cp", op(1));
  EXPECT_EQ(nothing, -1);
  b.wait(nothing);
  b.compute("b", matrix());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_TRUE(after(1).empty());
  EXPECT_EQ(program.leaves.size(), 2U);
}

TEST_F(Lists, PhasesOfOneProgramShareItsLeaves) {
  b.compute("a", work());
  TaskList other;
  ListBuilder backward(program, other, "backward");
  backward.compute("a", work());
  backward.compute("b", work());
  b.compute("b", work());
  EXPECT_EQ(program.leaves,
            (std::vector<std::string>{"a/forward", "a/backward", "b/backward", "b/forward"}));
  EXPECT_EQ(other[0].leaf, 1);
  EXPECT_EQ(list[1].leaf, 3);
}

}  // namespace
}  // namespace hysim::graph
