// SPDX-License-Identifier: Apache-2.0
//
// Trains a small network on two spirals and prints where its steps spend time. Try PROFKIT=steps=200 or PROFKIT=report,out=profile,trace.
#include <profkit/profkit.hpp>

#include <cmath>
#include <random>
#include <vector>

using matrix = std::vector<float>;  // row by row
constexpr std::size_t batch = 256, inputs = 2, hidden = 128, classes = 2;

enum class product { plain, left_transposed, right_transposed };

/// c = a b, c = a^T b or c = a b^T. c has rows x columns; the sum runs over `inner`.
void multiply(product kind, matrix const& a, matrix const& b, matrix& c, std::size_t rows, std::size_t inner, std::size_t columns) {
  PROF_SCOPE("multiply", (profkit::work{2.0 * static_cast<double>(rows * inner * columns)}));  // FLOPs: the report prints the rate
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < inner; ++k) {
        float const left = kind == product::left_transposed ? a[k * rows + i] : a[i * inner + k];
        sum += left * (kind == product::right_transposed ? b[j * inner + k] : b[k * columns + j]);
      }
      c[i * columns + j] = sum;
    }
  }
}

struct network {
  matrix w1 = matrix(inputs * hidden), w2 = matrix(hidden * classes), dw1 = w1, dw2 = w2;
  matrix x = matrix(batch * inputs), h = matrix(batch * hidden), y = matrix(batch * classes), dh = h;
  std::vector<std::size_t> label = std::vector<std::size_t>(batch);
  std::mt19937 random{7};

  network() {
    for (float& w : w1) w = std::normal_distribution<float>{}(random);
    for (float& w : w2) w = std::normal_distribution<float>{}(random) / 10;
  }
  void load() {
    PROF_FUNCTION();
    for (std::size_t i = 0; i < batch; ++i) {
      label[i] = i % classes;
      float const turn = std::uniform_real_distribution<float>{0.5F, 6.0F}(random), angle = turn + 3.14159F * static_cast<float>(label[i]);
      x[i * inputs] = turn * std::cos(angle) / 3.0F;
      x[i * inputs + 1] = turn * std::sin(angle) / 3.0F;
    }
  }
  void activate() {
    PROF_FUNCTION();
    for (float& each : h) each = std::tanh(each);
  }
  void forward() {
    PROF_FUNCTION();
    multiply(product::plain, x, w1, h, batch, inputs, hidden);
    activate();
    multiply(product::plain, h, w2, y, batch, hidden, classes);
  }
  float loss() {  // the cross entropy; y becomes its gradient
    PROF_FUNCTION();
    float sum = 0.0F;
    for (std::size_t i = 0; i < batch; ++i) {
      float const a = std::exp(y[i * classes]), b = std::exp(y[i * classes + 1]);
      y[i * classes] = a / (a + b);
      y[i * classes + 1] = b / (a + b);
      sum -= std::log(y[i * classes + label[i]]);
      y[i * classes + label[i]] -= 1.0F;
    }
    return sum / static_cast<float>(batch);
  }
  void backward() {
    PROF_FUNCTION();
    multiply(product::left_transposed, h, y, dw2, hidden, batch, classes);
    multiply(product::right_transposed, y, w2, dh, batch, classes, hidden);
    for (std::size_t i = 0; i < h.size(); ++i) dh[i] *= 1.0F - h[i] * h[i];
    multiply(product::left_transposed, x, dh, dw1, inputs, batch, hidden);
  }
  void update(float rate) {
    PROF_FUNCTION();
    for (std::size_t i = 0; i < w1.size(); ++i) w1[i] -= rate * dw1[i] / static_cast<float>(batch);
    for (std::size_t i = 0; i < w2.size(); ++i) w2[i] -= rate * dw2[i] / static_cast<float>(batch);
  }
};

int main() {
  profkit::options options = profkit::options::from_env();
  options.items_per_step = batch;
  options.item_name = "samples";
  profkit::session session{options};
  session.collect(profkit::host_memory());
  network model;
  for (profkit::step step : session) {
    model.load();
    model.forward();
    PROF_COUNTER("loss", model.loss());
    model.backward();
    model.update(0.5F);
  }
  fmt::print("{}\n", session.report());
}
