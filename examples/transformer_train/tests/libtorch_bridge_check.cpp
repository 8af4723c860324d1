// SPDX-License-Identifier: Apache-2.0
//
// Checks that each node that autograd runs on the CPU is in the right scope. The expected scope comes from the graph itself: the nodes that
// appear while an operation runs belong to the open scope.

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <profkit/profkit.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "libtorch_bridge.hpp"
#include "named_check.hpp"

namespace libtorch_bridge_check {

namespace {

using profkit_torch::libtorch_bridge;
using torch::autograd::Node;

int failures = 0;

void check(bool holds, std::string const& what) {
  if (holds) return;
  ++failures;
  fmt::print("FAIL: {}\n", what);
}

void check_equal(std::string const& found, std::string const& expected, std::string const& what) {
  check(found == expected, fmt::format("{}: \"{}\" instead of \"{}\"", what, found, expected));
}

void check_equal(std::uint64_t found, std::uint64_t expected, std::string const& what) {
  check(found == expected, fmt::format("{}: {} instead of {}", what, found, expected));
}

/// "step/backward: step/forward/layer_3 (backward)": the parent, and the adopted scope with its role.
std::string text_of(profkit::detail::scope_node const* node) {
  if (node == nullptr) return "nothing";
  using profkit::detail::event_kind;
  if (node->kind() == event_kind::enter_adopted) {
    return fmt::format("{}: {} ({})", text_of(node->parent), text_of(&node->adopted_from()), node->where().name);
  }
  std::string name = node->where().name;
  if (node->kind() == event_kind::enter_indexed) name += "_" + std::to_string(node->index());
  return node->parent == nullptr ? name : text_of(node->parent) + "/" + name;
}

std::string here() { return text_of(profkit::scope_token::current().node()); }

/// The scope that created each node, found by walking the graph after each operation.
class makers {
 public:
  /// Assigns all unknown nodes behind the tensor to the scope that is open here.
  at::Tensor const& note(at::Tensor const& made) {
    std::lock_guard const lock{mutex_};
    add(made.grad_fn());
    return made;
  }

  /// Empty: not noted.
  [[nodiscard]] std::string of(Node const* node) const {
    std::lock_guard const lock{mutex_};
    auto const found = known_.find(node);
    return found == known_.end() ? std::string{} : found->second.second;
  }

 private:
  void add(std::shared_ptr<Node> const& node) {
    if (node == nullptr || known_.count(node.get()) > 0) return;
    bool const is_leaf = node->name() == "torch::autograd::AccumulateGrad";
    known_[node.get()] = {node, is_leaf ? "gradient accumulation" : here()};
    for (torch::autograd::Edge const& edge : node->next_edges()) add(edge.function);
  }

  mutable std::mutex mutex_;
  std::map<Node const*, std::pair<std::shared_ptr<Node>, std::string>> known_;
};

/// Observes the scopes that the bridge opens: its callbacks are registered later, so they run after the bridge's.
class witness {
 public:
  struct event {
    std::string name;      ///< of the node or operation
    bool is_inner;         ///< a node that another one runs: a copy into a view runs the previous writer
    std::string expected;  ///< the scope that created the node, if noted
    std::string scope;     ///< the scopes open there
  };

  explicit witness(makers const& makers) {
    makers_ = &makers;
    nodes.clear();
    operations.clear();
    handles_ = {at::addGlobalCallback(at::RecordFunctionCallback{see_node}.scopes({at::RecordScope::BACKWARD_FUNCTION})),
                at::addGlobalCallback(at::RecordFunctionCallback{see_operation}.scopes({at::RecordScope::FUNCTION}))};
  }
  ~witness() {
    for (at::CallbackHandle const each : handles_) at::removeCallback(each);
  }
  witness(witness const&) = delete;
  witness& operator=(witness const&) = delete;

  static inline std::vector<event> nodes;
  static inline std::vector<event> operations;

  /// The number of nodes of the graph that ran.
  static std::uint64_t graph_nodes() {
    return static_cast<std::uint64_t>(std::count_if(nodes.begin(), nodes.end(), [](event const& node) { return !node.is_inner; }));
  }

 private:
  static std::unique_ptr<at::ObserverContext> see_node(at::RecordFunction const& node) {
    std::lock_guard const lock{mutex_};
    std::shared_ptr<Node> const running = torch::autograd::get_current_node();
    bool const is_inner = running != nullptr && running->name() != node.name();
    nodes.push_back({node.name(), is_inner, makers_->of(running.get()), here()});
    return nullptr;
  }
  static std::unique_ptr<at::ObserverContext> see_operation(at::RecordFunction const& operation) {
    std::lock_guard const lock{mutex_};
    operations.push_back({operation.name(), false, {}, here()});
    return nullptr;
  }

  static inline std::mutex mutex_;
  static inline makers const* makers_ = nullptr;
  std::vector<at::CallbackHandle> handles_;
};

/// Runs one step in a session and returns its profile.
profkit::profile in_step(std::function<void()> const& work) {
  profkit::options options;
  options.warmup_steps = 0;
  options.measured_steps = 1;
  profkit::session session{options};
  for (profkit::step step : session) {
    static_cast<void>(step);
    work();
  }
  return session.report().profile();
}

void backward(at::Tensor const& loss) {
  PROF_SCOPE("backward");
  libtorch_bridge::backward_call const call{loss};
  loss.backward();
}

at::Tensor parameter(std::vector<std::int64_t> const& shape) { return at::randn(shape).requires_grad_(); }

/// Nested scopes with difficult cases: operations of several nodes, in-place writes into views, broadcasting, a value that is used three
/// times, cached casts.
struct model {
  at::Tensor table = parameter({10, 8});
  at::Tensor scale = parameter({8});
  at::Tensor square = parameter({8, 8});
  at::Tensor bias = parameter({8});

  static constexpr std::uint64_t parameters = 4;

  [[nodiscard]] at::Tensor forward(makers& made, std::int64_t layers) const {
    PROF_SCOPE("forward");
    at::Tensor x;
    {
      PROF_SCOPE("embedding");
      x = made.note(at::embedding(table, at::randint(0, 10, {2, 5})));
    }
    for (std::int64_t i = 0; i < layers; ++i) {
      PROF_SCOPE_INDEXED("layer", i);
      at::Tensor y;
      {
        PROF_SCOPE("scale");
        y = made.note(x * scale);
      }
      {
        PROF_SCOPE("product");
        y = made.note(at::linear(y, square, bias));
      }
      {
        PROF_SCOPE("in place");
        y = made.note(y.clone());
        y.select(0, 0).mul_(2.0);
        made.note(y);
      }
      {
        PROF_SCOPE("softmax");
        y = made.note(at::softmax(y, -1));
      }
      x = made.note(x + y + x.sin());
    }
    PROF_SCOPE("loss");
    return made.note(x.pow(2).mean());
  }
};

/// Every node was created in the scope that it is charged to; leaves run in the scope of the call, on this thread.
void check_nodes(std::string const& where, std::string const& what) {
  check(!witness::nodes.empty(), what + ": no node ran");
  for (witness::event const& node : witness::nodes) {
    check(!node.expected.empty(), fmt::format("{}: it is not known who made {}", what, node.name));
    std::string const expected = node.expected == "gradient accumulation" ? where : fmt::format("{}: {} (backward)", where, node.expected);
    check_equal(node.scope, expected, fmt::format("{}: {}", what, node.name));
  }
}

void check_counts(libtorch_bridge const& bridge, libtorch_bridge::node_counts const& expected, std::string const& what) {
  libtorch_bridge::node_counts const found = bridge.counts();
  check_equal(found.matched, expected.matched, what + ": nodes of forward scopes");
  check_equal(found.higher_order, expected.higher_order, what + ": nodes of higher order");
  check_equal(found.unknown, expected.unknown, what + ": nodes of unknown forward");
}

/// The engine's work between the functions of nodes, by operation: its scopes.
std::set<std::string> scopes_of_operation(std::string_view name, std::string_view part_of_scope) {
  std::set<std::string> result;
  for (witness::event const& each : witness::operations) {
    if (each.name == name && each.scope.find(part_of_scope) != std::string::npos) result.insert(each.scope);
  }
  return result;
}

void check_every_node() {
  model const trained;
  makers made;
  std::uint64_t const layers = 3;
  profkit::profile const recorded = in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const loss = trained.forward(made, layers);
    witness const sees{made};
    backward(loss);
    check_nodes("step/backward", "every node");
    check_counts(bridge, {witness::graph_nodes() - model::parameters, 0, 0}, "every node");
    check_equal(here(), "step", "what is open after the backward pass");
  });

  // x is used three times in each layer: its gradients are summed after the nodes of x.sin() and x * scale.
  std::set<std::string> sums = scopes_of_operation("aten::add_", "step/backward");
  sums.merge(scopes_of_operation("aten::add", "step/backward"));
  std::set<std::string> expected_sums{"step/backward"};  // x * scale leads to a parameter, so its scope has ended
  for (std::uint64_t i = 0; i < layers; ++i) expected_sums.insert(fmt::format("step/backward: step/forward/layer_{} (backward)", i));
  check(sums == expected_sums, fmt::format("sums of gradients are in {}", fmt::join(sums, ", ")));

  std::set<std::string> adopted;
  for (profkit::path_record const& path : recorded.paths) {
    if (path.adopted_from == profkit::path_record::no_parent) continue;
    check_equal(path.role, "backward", path.name);
    check_equal(recorded.paths[path.parent].name, "backward", path.name + " lies in");
    adopted.insert(path.name);
  }
  check_equal(adopted.size(), 2 + 5 * layers, "scopes with a backward");
  check(adopted.count("forward/layer_1/softmax (backward)") == 1, "the profile has no forward/layer_1/softmax (backward)");
}

void check_autocast() {
  model const trained;
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
    at::Tensor const loss = trained.forward(made, 2);
    at::autocast::decrement_nesting();
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    witness const sees{made};
    backward(loss);
    check_nodes("step/backward", "autocast");
    check_counts(bridge, {witness::graph_nodes() - model::parameters, 0, 0}, "autocast");
  });
}

/// Threads use the same node numbers.
void check_threads() {
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    witness const sees{made};
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&made, i] {
        PROF_SCOPE_INDEXED("thread", i);
        model const trained;
        for (int repetition = 0; repetition < 20; ++repetition) backward(trained.forward(made, 1 + i));
      });
    }
    for (std::thread& each : threads) each.join();
    for (witness::event const& node : witness::nodes) {
      // "thread_3/backward: thread_3/forward/... (backward)"
      std::string const thread = node.scope.substr(0, node.scope.find('/'));
      std::string const expected =
          node.expected == "gradient accumulation" ? thread + "/backward" : thread + "/backward: " + node.expected + " (backward)";
      check_equal(node.scope, expected, "four threads: " + node.name);
      check(node.expected == "gradient accumulation" || node.expected.substr(0, thread.size() + 1) == thread + "/",
            fmt::format("four threads: {} is charged to {}", node.name, node.scope));
    }
    check_counts(bridge, {witness::graph_nodes() - 80 * model::parameters, 0, 0}, "four threads");
  });
}

/// Runs forward here, and backward on a thread without earlier work.
void check_other_thread() {
  model const trained;
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const loss = trained.forward(made, 2);
    witness const sees{made};
    std::thread{[&] { backward(loss); }}.join();
    check_nodes("backward", "backward on another thread");
  });
}

/// What the engine does before a node runs.
torch::autograd::variable_list run_pre_hooks(Node& node) {
  torch::autograd::variable_list gradients{at::randn({2})};
  for (auto const& hook : node.pre_hooks()) gradients = (*hook)(gradients);
  return gradients;
}

/// Like the engine's threads: a node runs on a thread without open scopes, while others wait.
std::string scope_of_node_elsewhere(makers const& made, at::Tensor const& tensor) {
  witness const sees{made};
  std::thread{[&] {
    Node& node = *tensor.grad_fn();
    torch::autograd::variable_list const gradients = run_pre_hooks(node);
    torch::autograd::variable_list outputs = node(torch::autograd::variable_list{gradients});
    for (auto const& hook : node.post_hooks()) outputs = (*hook)(outputs, gradients);
    check_equal(here(), "nothing", "what is open after a node");
  }}.join();
  return witness::nodes.size() == 1 ? witness::nodes.front().scope : "not one node";
}

void check_backward_call() {
  makers const made;
  profkit::profile const recorded = in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor y;
    at::Tensor z;
    {
      PROF_SCOPE("forward");
      y = parameter({2}).sin();
      z = parameter({2}).cos();
    }
    std::string const node = "step/forward (backward)";
    check_equal(scope_of_node_elsewhere(made, y), "nothing", "before a call");
    { libtorch_bridge::backward_call const earlier{y}; }
    check_equal(scope_of_node_elsewhere(made, y), "nothing", "after a call");
    PROF_SCOPE("first");
    libtorch_bridge::backward_call const first{y};
    check_equal(scope_of_node_elsewhere(made, y), "step/first: " + node, "in a call");
    {
      PROF_SCOPE("second");
      libtorch_bridge::backward_call const second{z};
      check_equal(scope_of_node_elsewhere(made, y), "nothing: " + node, "in the first one of two calls");
      check_equal(scope_of_node_elsewhere(made, z), "nothing: " + node, "in the second one of two calls");
    }
    check_equal(scope_of_node_elsewhere(made, z), "nothing", "after the second call");
    check_equal(scope_of_node_elsewhere(made, y), "step/first: " + node, "in the call that is left");
  });
  std::set<std::string> rests;
  for (profkit::thread_record const& thread : recorded.threads) {
    if (thread.default_path == profkit::path_record::no_parent) continue;
    profkit::path_record const& path = recorded.paths[thread.default_path];
    rests.insert(fmt::format("{} in {}", path.name, recorded.paths[path.parent].name));
  }
  check(rests == std::set<std::string>{"gradient accumulation in first"},
        "the work of autograd threads between nodes is not charged to the calling scope");
}

/// Threads number their nodes independently, so these numbers say nothing about the order of the nodes of several threads.
void check_forward_on_two_threads() {
  model const trained;
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor body;
    at::Tensor loss;
    std::thread{[&] {
      PROF_SCOPE("first thread");
      body = trained.forward(made, 3);
    }}.join();
    std::thread{[&] {  // its numbers are lower
      PROF_SCOPE("second thread");
      at::Tensor parts[2];
      for (std::int64_t i = 0; i < 2; ++i) {
        PROF_SCOPE_INDEXED("head", i);
        parts[i] = made.note(body.sin().exp());
      }
      loss = made.note(parts[0] + parts[1]);
    }}
        .join();
    witness const sees{made};
    backward(loss);
    check_nodes("step/backward", "forward on two threads");
    check_counts(bridge, {witness::graph_nodes() - model::parameters, 0, 0}, "forward on two threads");
    check_equal(loss.grad_fn()->pre_hooks().size(), 1, "hooks of a node of two threads");
  });
}

/// A graph that runs again has the hooks of the last call only.
void check_retained_graph() {
  model const trained;
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const loss = trained.forward(made, 2);
    for (bool const is_last : {false, true}) {
      witness const sees{made};
      PROF_SCOPE("backward");
      libtorch_bridge::backward_call const call{loss};
      loss.backward({}, /*retain_graph=*/!is_last);
      check_nodes("step/backward", is_last ? "a graph that runs again" : "a retained graph");
      check_equal(loss.grad_fn()->pre_hooks().size(), 1, "hooks of a node");
    }
  });
}

/// LibTorch creates the node of an operation before the new node of a view whose base has changed, so the first one leads to a later node.
/// It has the lower number, so the engine runs it after the nodes that were created in between.
void check_stale_view() {
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const x = parameter({4});
    at::Tensor loss;
    {
      PROF_SCOPE("forward");
      at::Tensor const base = made.note(x.neg());
      at::Tensor const view = base.view({2, 2});
      base.mul_(2.0);
      made.note(base);
      at::Tensor parts[2];
      {
        PROF_SCOPE("first");
        parts[0] = made.note(view * 3.0);
      }
      {
        PROF_SCOPE("second");
        parts[1] = made.note(view.sin());
      }
      Node const& product = *parts[0].grad_fn();
      check(product.next_edge(0).function->sequence_nr() > product.sequence_nr(), "no node leads to a later one");
      loss = made.note((parts[0] + parts[1]).sum());
    }
    witness const sees{made};
    backward(loss);
    check_nodes("step/backward", "a view whose base has changed");
    check_counts(bridge, {witness::graph_nodes() - 1, 0, 0}, "a view whose base has changed");
  });
}

/// With inputs, the engine skips nodes, also the first ones of a scope.
void check_part_of_graph() {
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const x = parameter({4});
    at::Tensor middle;
    at::Tensor loss;
    {
      PROF_SCOPE("forward");
      at::Tensor other;
      {
        PROF_SCOPE("first");
        middle = made.note(x.sin().exp());
        other = made.note(parameter({4}).neg());
      }
      at::Tensor kept;
      at::Tensor skipped;
      {
        PROF_SCOPE("second");
        kept = made.note(middle.tanh());
        skipped = made.note(other.cos());
      }
      loss = made.note((kept + skipped).sum());
    }
    {
      witness const sees{made};
      PROF_SCOPE("gradient");
      libtorch_bridge::backward_call const call{loss, middle};
      torch::autograd::grad({loss}, {middle}, {}, /*retain_graph=*/true);
      check_equal(witness::graph_nodes(), 3, "nodes before the middle");
      check_nodes("step/gradient", "a part of a graph");
    }
    check_equal(here(), "step", "what is open after a part of a graph");
    witness const sees{made};
    PROF_SCOPE("gradient");
    libtorch_bridge::backward_call const call{loss, x};
    torch::autograd::grad({loss}, {x});
    check_equal(witness::graph_nodes(), 5, "nodes before the input");
    check_nodes("step/gradient", "another part of a graph");
  });
}

void check_double_backward() {
  makers made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor const x = parameter({4});
    at::Tensor y;
    {
      PROF_SCOPE("forward");
      y = made.note(x.sin() * x.exp()).sum();
      made.note(y);
    }
    at::Tensor gradient;
    {
      PROF_SCOPE("first");
      libtorch_bridge::backward_call const call{y, x};
      gradient = torch::autograd::grad({y}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true).front();
    }
    std::uint64_t const first_order = bridge.counts().matched;
    check_equal(bridge.counts().higher_order, 0, "nodes of higher order in the first pass");
    at::Tensor const penalty = [&] {
      PROF_SCOPE("penalty");
      return gradient.pow(2).sum();
    }();
    witness const sees{made};
    backward(penalty);
    std::uint64_t marked = 0;
    for (witness::event const& node : witness::nodes) {
      bool const is_marked = node.scope.find("(double backward or recomputed)") != std::string::npos;
      marked += is_marked ? 1 : 0;
      bool const is_leaf = node.name == "torch::autograd::AccumulateGrad";
      bool const is_penalty = node.scope == "step/backward: step/penalty (backward)";
      // Nodes of the first pass that the second pass runs again still belong to the forward pass.
      bool const is_forward = node.expected == "step/forward" && node.scope == "step/backward: step/forward (backward)";
      check(is_marked != (is_leaf || is_penalty || is_forward), fmt::format("double backward: {} is in {}", node.name, node.scope));
    }
    check(first_order == 4 && marked >= 4, fmt::format("double backward: {} nodes of first order, {} marked", first_order, marked));
    check_equal(bridge.counts().higher_order, marked, "nodes of higher order");
  });
}

/// Keeps only its input, and recomputes its output in the backward pass.
struct checkpoint : torch::autograd::Function<checkpoint> {
  static at::Tensor body(at::Tensor const& x) {
    PROF_SCOPE("body");
    return x.sin().exp();
  }
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::Tensor const& x) {
    context->save_for_backward({x});
    return body(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    at::Tensor const x = context->get_saved_variables().front().detach().requires_grad_();
    c10::AutoGradMode const enabled{true};
    at::Tensor const y = body(x);
    libtorch_bridge::backward_call const call{y, x};
    return torch::autograd::grad({y}, {x}, {gradients.front()});
  }
};

void check_checkpoint() {
  makers const made;
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor loss;
    {
      PROF_SCOPE("forward");
      at::Tensor const x = parameter({4}) * 2.0;
      loss = checkpoint::apply(x).sum();
    }
    witness const sees{made};
    backward(loss);
    std::map<std::string, std::string> scopes;
    for (witness::event const& node : witness::nodes) scopes[node.name] = node.scope;
    std::string const outer = "step/backward: step/forward (backward)";
    std::string const inner = fmt::format("{0}: {0}/body (double backward or recomputed)", outer);
    check_equal(scopes["ExpBackward0"], inner, "recomputed exp");
    check_equal(scopes["SinBackward0"], inner, "recomputed sin");
    check_equal(scopes["MulBackward1"], "step/backward: step/forward (backward)", "what is behind the checkpoint");
    check_counts(bridge, {3, 2, 0}, "checkpoint");
  });
}

struct failing : torch::autograd::Function<failing> {
  static inline bool fails = true;

  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, at::Tensor const& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/, torch::autograd::variable_list gradients) {
    if (fails) throw std::runtime_error{"no gradient"};
    return gradients;
  }
};

void check_failing_node() {
  makers made;
  model const trained;
  in_step([&] {
    libtorch_bridge const bridge;
    bool has_thrown = false;
    try {
      backward(failing::apply(parameter({4})).sum());
    } catch (std::exception const&) {
      has_thrown = true;
    }
    check(has_thrown, "a node that throws does not end the backward pass");
    check_equal(here(), "step", "what is open after a node threw");
    at::Tensor const loss = trained.forward(made, 1);
    witness const sees{made};
    backward(loss);
    check_nodes("step/backward", "after a node threw");
  });
}

/// Runs a graph that has hooks of an earlier call.
void run_without_call(at::Tensor const& loss, makers const& made, std::string const& what) {
  for (bool const fails : {false, true}) {
    witness const sees{made};
    PROF_SCOPE("again");
    failing::fails = fails;
    bool has_thrown = false;
    try {
      loss.backward({}, /*retain_graph=*/true);
    } catch (std::exception const&) {
      has_thrown = true;
    }
    failing::fails = true;
    check(has_thrown == fails, what + ": whether a node throws");
    check(!witness::nodes.empty(), what + ": no node ran");
    for (witness::event const& node : witness::nodes) check_equal(node.scope, "step/again", fmt::format("{}: {}", what, node.name));
    check_equal(here(), "step/again", what + ": what is open after the backward pass");
  }
}

/// Runs a graph in its backward pass, without a call.
struct uncharged_pass : torch::autograd::Function<uncharged_pass> {
  static inline at::Tensor output;
  static inline std::string scope_after;

  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, at::Tensor const& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/, torch::autograd::variable_list gradients) {
    output.backward({}, /*retain_graph=*/true);
    scope_after = here();
    return gradients;
  }
};

/// Nodes with hooks of an earlier call do not end the scope of the node that runs them.
void check_pass_without_call_in_a_node() {
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor loss;
    {
      PROF_SCOPE("forward");
      uncharged_pass::output = parameter({4}).sin().sum();
      loss = uncharged_pass::apply(parameter({4})).sum();
    }
    { libtorch_bridge::backward_call const earlier{uncharged_pass::output}; }
    backward(loss);
    check_equal(uncharged_pass::scope_after, "step/backward: step/forward (backward)", "what is open after a pass inside a node");
    uncharged_pass::output.reset();
  });
}

/// Hooks of a retained graph have no effect after their call.
void check_pass_without_call() {
  model const trained;
  makers made;
  in_step([&] {
    at::Tensor loss;
    {
      libtorch_bridge const bridge;
      loss = failing::apply(trained.forward(made, 2));
      {
        PROF_SCOPE("backward");
        failing::fails = false;
        libtorch_bridge::backward_call const call{loss};
        loss.backward({}, /*retain_graph=*/true);
      }
      run_without_call(loss, made, "a retained graph without a call");
    }
    libtorch_bridge const later;
    run_without_call(loss, made, "a retained graph with a later bridge");
  });
}

/// A node that throws on a thread of the engine leaves its scope open there, because the call ends on another thread.
void check_failing_node_elsewhere() {
  in_step([&] {
    libtorch_bridge const bridge;
    at::Tensor first;
    at::Tensor second;
    {
      PROF_SCOPE("forward");
      first = parameter({2}).sin();
      second = parameter({2}).cos();
    }
    std::promise<void> has_failed;
    std::promise<void> has_begun;
    std::promise<void> has_run;
    std::promise<void> has_ended;
    std::thread engine;
    {
      PROF_SCOPE("first");
      libtorch_bridge::backward_call const call{first};
      engine = std::thread{[&] {
        run_pre_hooks(*first.grad_fn());
        check_equal(here(), "step/first: step/forward (backward)", "what is open in a node that throws");
        has_failed.set_value();
        has_begun.get_future().wait();
        run_pre_hooks(*second.grad_fn());
        check_equal(here(), "step/second: step/forward (backward)", "what is open in the next call");
        has_run.set_value();
        has_ended.get_future().wait();
        run_pre_hooks(*first.grad_fn());
        check_equal(here(), "nothing", "what is open when a retained graph runs without a call");
      }};
      has_failed.get_future().wait();
    }
    {
      PROF_SCOPE("second");
      libtorch_bridge::backward_call const call{second};
      has_begun.set_value();
      has_run.get_future().wait();
    }
    has_ended.set_value();
    engine.join();
  });
}

/// Runs nodes in its backward pass that the pass around it runs later.
struct early_pass : torch::autograd::Function<early_pass> {
  static inline at::Tensor output;
  static inline at::Tensor input;

  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, at::Tensor const& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*context*/, torch::autograd::variable_list gradients) {
    libtorch_bridge::backward_call const call{output, input};
    torch::autograd::grad({output}, {input}, {}, /*retain_graph=*/true);
    return gradients;
  }
};

/// A call keeps the hooks of a call around it.
void check_nodes_of_two_calls() {
  makers const made;
  in_step([&] {
    libtorch_bridge const bridge;
    early_pass::input = parameter({});
    at::Tensor middle;
    {
      PROF_SCOPE("first");
      middle = early_pass::input.sin();
    }
    {
      PROF_SCOPE("second");
      early_pass::output = middle.exp();
    }
    at::Tensor loss;
    {
      PROF_SCOPE("third");
      loss = early_pass::apply(early_pass::output);
    }
    witness const sees{made};
    backward(loss);
    std::map<std::string, std::vector<std::string>> scopes;
    for (witness::event const& node : witness::nodes) scopes[node.name].push_back(node.scope);
    std::string const around = "step/backward: step/third (backward)";
    using pair = std::vector<std::string>;
    check(scopes["ExpBackward0"] == pair{around + ": step/second (backward)", "step/backward: step/second (backward)"},
          fmt::format("a node of two calls is in {}", fmt::join(scopes["ExpBackward0"], ", ")));
    check(scopes["SinBackward0"] == pair{around + ": step/first (backward)", "step/backward: step/first (backward)"},
          fmt::format("a node of two calls is in {}", fmt::join(scopes["SinBackward0"], ", ")));
    early_pass::output.reset();
    early_pass::input.reset();
  });
}

/// A new thread takes over the memory of a thread that ended, except that of the last 32 of these. The number of threads has no limit.
void check_ended_threads() {
  makers const made;
  in_step([&] {
    libtorch_bridge const bridge;
    for (int i = 0; i < 4096; ++i) std::thread{[] { at::RecordFunction::currentThreadId(); }}.join();
    std::vector<at::Tensor> results(64);
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::thread{[&] {
        PROF_SCOPE_INDEXED("thread", i);
        results[i] = parameter({2}).sin().sum();
      }}.join();
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      bool const is_kept = i >= results.size() - 33;  // no thread began after the last one
      witness const sees{made};
      backward(results[i]);
      for (witness::event const& node : witness::nodes) {
        if (node.name == "torch::autograd::AccumulateGrad") continue;
        std::string const expected =
            is_kept ? fmt::format("step/backward: thread_{} (backward)", i) : std::string{"step/backward/backward of unknown forward"};
        check_equal(node.scope, expected, fmt::format("{} of ended thread {}", node.name, i));
      }
      check_equal(witness::nodes.size(), 3, "nodes of an ended thread");
    }
  });
}

/// Nodes created outside scopes, without a session, or too long ago are charged to no scope.
void check_unknown() {
  makers const made;
  at::Tensor const before_session = parameter({2}).sin().sum();
  in_step([&] {
    libtorch_bridge const bridge;
    backward(before_session);
    check_counts(bridge, {0, 0, 2}, "made before the session");
    at::Tensor const x = parameter({2});
    std::thread{[&] {
      at::Tensor const loss = x.sin().sum();
      backward(loss);
    }}.join();
    check_counts(bridge, {0, 0, 4}, "made outside scopes");
    for (bool const is_too_old : {false, true}) {
      at::Tensor old;
      {
        PROF_SCOPE("long ago");
        old = x.sin().sum();
      }
      for (int i = 0; i < (1 << 14) - (is_too_old ? 1 : 2); ++i) {
        PROF_SCOPE("lately");
        static_cast<void>(x.view({2}));
      }
      witness const sees{made};
      backward(old);
      for (witness::event const& node : witness::nodes) {
        if (node.name == "torch::autograd::AccumulateGrad") continue;
        check_equal(node.scope, is_too_old ? "step/backward/backward of unknown forward" : "step/backward: step/long ago (backward)",
                    fmt::format("{}, {} scopes ago", node.name, is_too_old ? "16,384" : "16,383"));
      }
      check(witness::nodes.size() == 3, "not all nodes ran");
    }
  });
}

void check_without_bridge() {
  model const trained;
  makers made;
  profkit::profile const recorded = in_step([&] {
    at::Tensor const loss = trained.forward(made, 2);
    witness const sees{made};
    backward(loss);
    for (witness::event const& node : witness::nodes) check_equal(node.scope, "step/backward", "without a bridge: " + node.name);
  });
  for (profkit::path_record const& path : recorded.paths) {
    check(path.adopted_from == profkit::path_record::no_parent, "without a bridge there is " + path.name);
  }
}

// As in docs/getting_started.md.
profkit::report train(at::Tensor const& batch, at::Tensor const& weights) {
  profkit::session session;
  profkit_torch::libtorch_bridge const bridge;  // once, before the first forward pass
  for (profkit::step step : session) {
    at::Tensor loss;
    {
      PROF_SCOPE("forward");
      loss = at::linear(batch, weights).mean();
    }
    PROF_SCOPE("backward");
    profkit_torch::libtorch_bridge::backward_call const call{loss};
    loss.backward();
  }
  return session.report();
}

void check_loop_of_the_documentation() {
  profkit::report const report = train(at::randn({4, 8}), parameter({2, 8}));
  std::set<std::string> paths;
  for (profkit::scope_summary const& row : report.summary().scopes) paths.insert(row.path);
  check(paths.count("step/backward/forward (backward)") == 1, "the loop of the documentation has no backward of its forward");
}

void check_one_at_a_time() {
  bool has_thrown = false;
  {
    libtorch_bridge const bridge;
    try {
      libtorch_bridge const second;
    } catch (std::logic_error const&) {
      has_thrown = true;
    }
  }
  check(has_thrown, "two bridges can exist at once");
  libtorch_bridge const again;
}

int run(int /*count*/, char** /*arguments*/) {
  check_without_bridge();
  check_every_node();
  check_autocast();
  check_threads();
  check_other_thread();
  check_backward_call();
  check_forward_on_two_threads();
  check_retained_graph();
  check_stale_view();
  check_part_of_graph();
  check_double_backward();
  check_checkpoint();
  check_failing_node();
  check_pass_without_call();
  check_pass_without_call_in_a_node();
  check_failing_node_elsewhere();
  check_nodes_of_two_calls();
  check_ended_threads();
  check_unknown();
  check_loop_of_the_documentation();
  check_one_at_a_time();
  check_without_bridge();
  return failures == 0 ? 0 : 1;
}

checks::named_check const registered{"libtorch_bridge", run};

}  // namespace

}  // namespace libtorch_bridge_check
