// Makes this example from a public package: trains a small network on the prices of most of the diamonds,
// and writes the rest as data/diamonds.csv beside models/price.onnx. Seeded: the same package gives the same files.
//   node examples/diamonds/make.mjs
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fetchPackage, modelOf, node, random, sha256, shuffle, tensor } from "../making.mjs";

const kept = { calibration: 512, tuning: 512, holdout: 2000 };
const hidden = 128;
const epochs = 12;
const batch = 64;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** From worst to best. */
const grades = {
  cut: ["Fair", "Good", "Very Good", "Premium", "Ideal"],
  color: ["J", "I", "H", "G", "F", "E", "D"],
  clarity: ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
};
const fields = ["carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z"];

function readDiamonds() {
  const files = fetchPackage("@observablehq/sample-datasets@1.0.1", "8cb79bcc90c9dab6155deb6aa1ec203716735301a5ed3f591817e3e0a298525a");
  const [head, ...lines] = Buffer.from(files.get("package/diamonds.csv")).toString("utf8").trim().split("\n");
  const names = head.split(",");
  const seen = new Set();
  return lines.flatMap((line) => {
    const cells = line.split(",");
    const cell = (name) => cells[names.indexOf(name)];
    const values = fields.map((name) => (name in grades ? grades[name].indexOf(cell(name)) : Number(cell(name))));
    // A length of 0 was not measured; the same stone twice would be one item in two parts.
    if (values.slice(6).includes(0) || seen.has(values.join())) return [];
    seen.add(values.join());
    return [{ values, price: Number(cell("price")) }];
  });
}

/** Three layers by Adam on the logarithm of the price; inputs have mean 0 and deviation 1. */
function train(inputs, targets, next) {
  const sizes = [fields.length, hidden, hidden, 1];
  const layers = sizes.slice(1).map((to, l) => {
    const from = sizes[l];
    const w = Float64Array.from({ length: from * to }, () => (next() * 2 - 1) * Math.sqrt(3 / from));
    return { from, to, w, b: new Float64Array(to), gw: new Float64Array(w.length), gb: new Float64Array(to) };
  });
  const parameters = layers.flatMap(({ w, b, gw, gb }) => [
    [w, gw, new Float64Array(w.length), new Float64Array(w.length)],
    [b, gb, new Float64Array(b.length), new Float64Array(b.length)],
  ]);
  const values = sizes.map((size) => new Float64Array(size));
  const slopes = sizes.map((size) => new Float64Array(size));
  const order = inputs.map((_, i) => i);
  let step = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, next);
    let sum = 0;
    for (let at = 0; at < order.length; at += batch) {
      const some = order.slice(at, at + batch);
      for (const i of some) {
        values[0].set(inputs[i]);
        for (const [l, { from, to, w, b }] of layers.entries()) {
          for (let j = 0; j < to; j++) {
            let z = b[j];
            for (let k = 0; k < from; k++) z += values[l][k] * w[j * from + k];
            values[l + 1][j] = l < 2 ? Math.max(0, z) : z;
          }
        }
        const off = values[3][0] - targets[i];
        sum += off * off;
        slopes[3][0] = off / some.length;
        for (let l = 2; l >= 0; l--) {
          const { from, to, w, gw, gb } = layers[l];
          slopes[l].fill(0);
          for (let j = 0; j < to; j++) {
            const slope = l < 2 && values[l + 1][j] === 0 ? 0 : slopes[l + 1][j];
            if (slope === 0) continue;
            gb[j] += slope;
            for (let k = 0; k < from; k++) {
              gw[j * from + k] += slope * values[l][k];
              slopes[l][k] += slope * w[j * from + k];
            }
          }
        }
      }
      step++;
      const rate = 0.003 * (1 - epoch / epochs);
      for (const [p, g, m, v] of parameters) {
        for (let k = 0; k < p.length; k++) {
          m[k] = 0.9 * m[k] + 0.1 * g[k];
          v[k] = 0.999 * v[k] + 0.001 * g[k] * g[k];
          p[k] -= (rate * (m[k] / (1 - 0.9 ** step))) / (Math.sqrt(v[k] / (1 - 0.999 ** step)) + 1e-8);
          g[k] = 0;
        }
      }
    }
    console.log(`epoch ${epoch + 1} of ${epochs}: mean squared error of the logarithm ${(sum / order.length).toFixed(5)}`);
  }
  return layers;
}

const next = random(1);
const diamonds = shuffle(readDiamonds(), next);
const count = kept.calibration + kept.tuning + kept.holdout;
const [shown, learnt] = [diamonds.slice(0, count), diamonds.slice(count)];
const mean = fields.map((_, k) => learnt.reduce((sum, { values }) => sum + values[k], 0) / learnt.length);
const deviation = fields.map((_, k) => Math.sqrt(learnt.reduce((sum, { values }) => sum + (values[k] - mean[k]) ** 2, 0) / learnt.length));
const scaled = ({ values }) => values.map((value, k) => (value - mean[k]) / deviation[k]);
const layers = train(
  learnt.map(scaled),
  learnt.map(({ price }) => Math.log(price)),
  next,
);
const [first, second, last] = layers;
const model = modelOf("price", {
  nodes: [
    node("Sub", ["stone", "mean"], "centred"),
    node("Div", ["centred", "deviation"], "scaled"),
    node("Gemm", ["scaled", "w1", "b1"], "z1", { transB: 1 }),
    node("Relu", ["z1"], "h1"),
    node("Gemm", ["h1", "w2", "b2"], "z2", { transB: 1 }),
    node("Relu", ["z2"], "h2"),
    node("Gemm", ["h2", "w3", "b3"], "logarithm", { transB: 1 }),
    node("Exp", ["logarithm"], "price"),
  ],
  constants: [
    tensor("mean", [fields.length], mean),
    tensor("deviation", [fields.length], deviation),
    ...[first, second, last].flatMap(({ from, to, w, b }, l) => [tensor(`w${l + 1}`, [to, from], w), tensor(`b${l + 1}`, [to], b)]),
  ],
  input: ["stone", fields.length],
  output: ["price", 1],
});
const csv = [[...fields, "price"].join(), ...shown.map(({ values, price }) => [...values, price].join())].join("\n");
mkdirSync(here("data"), { recursive: true });
mkdirSync(here("models"), { recursive: true });
for (const [name, bytes] of Object.entries({ "data/diamonds.csv": Buffer.from(`${csv}\n`), "models/price.onnx": model })) {
  writeFileSync(here(name), bytes);
  console.log(`${name} ${bytes.length} bytes, SHA-256 ${sha256(bytes)}`);
}
console.log(`${diamonds.length} diamonds, trained on ${learnt.length}`);
