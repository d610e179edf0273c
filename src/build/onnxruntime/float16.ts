/**
 * The route fp16: weights and graph in half precision, inputs and outputs as they were. Where ONNX
 * Runtime has no half-precision kernel it puts casts around the operator itself.
 */
import { create } from "@bufbuild/protobuf";
import { TypeProto_TensorSchema, TypeProtoSchema, type GraphProto, type NodeProto, type TensorProto } from "onnx-buf";
import { attribute, floatsOf, freshName, nodeOf, onnxType } from "./graph.ts";

const bits = new Uint32Array(1);
const number = new Float32Array(bits.buffer);

/** IEEE half of a float, round to nearest even; beyond the range the largest finite half, since an infinite weight answers nothing. */
export function halfOf(value: number): number {
  number[0] = value;
  const x = bits[0]!;
  const sign = (x >>> 16) & 0x8000;
  const magnitude = x & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477fe000 + 0x1000) return sign | 0x7bff;
  if (magnitude < 0x38800000) {
    // Subnormal halves: a multiple of 2^-24.
    const scaled = Math.abs(value) * 2 ** 24;
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    return sign | (floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0));
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function toHalf(tensor: TensorProto): void {
  const values = floatsOf(tensor);
  if (!values) return;
  const halves = Uint16Array.from(values, halfOf);
  tensor.rawData = new Uint8Array(halves.buffer);
  tensor.floatData = [];
  tensor.dataType = onnxType.float16;
}

/** Constants below this many numbers stay as they are: a cast costs more than they weigh. */
const leastStored = 64;

/** Stores large constants in half precision and computes as before; rewrites the graph in place, returns how many changed. */
export function storeInFloat16(graph: GraphProto): number {
  const single = singleOnly(graph);
  const casts: NodeProto[] = [];
  const sizeOf = ({ dims }: TensorProto): number => dims.reduce((product, size) => product * Number(size), 1);
  const store = (tensor: TensorProto, name: string): string | null => {
    if (tensor.dataType !== onnxType.float || sizeOf(tensor) < leastStored || single.has(name)) return null;
    toHalf(tensor);
    const half = freshName(graph, `${name}_half`);
    casts.push(nodeOf("Cast", [half], [name], { to: onnxType.float }));
    return half;
  };
  for (const tensor of graph.initializer) tensor.name = store(tensor, tensor.name) ?? tensor.name;
  const constants: NodeProto[] = [];
  const rest: NodeProto[] = [];
  for (const node of graph.node) {
    const value = node.opType === "Constant" ? attribute(node, "value")?.t : undefined;
    const half = value && store(value, node.output[0]!);
    if (half) node.output[0] = half;
    (half ? constants : rest).push(node);
  }
  // Old files list initialisers as inputs; those that are computed now are none.
  const computed = new Set(casts.map(({ output }) => output[0]!));
  graph.input = graph.input.filter(({ name }) => !computed.has(name));
  graph.node = [...constants, ...casts, ...rest];
  return casts.length;
}

/** Resize takes its region and scales in single precision. */
const singleOnly = (graph: GraphProto): Set<string> =>
  new Set(graph.node.filter(({ opType }) => opType === "Resize" || opType === "Upsample").flatMap(({ input }) => input.slice(1)));

/** Rewrites the whole graph in place. Returns 1: it always changes. */
export function convertToFloat16(graph: GraphProto): number {
  const single = singleOnly(graph);
  for (const tensor of graph.initializer) if (!single.has(tensor.name)) toHalf(tensor);
  for (const node of graph.node) {
    if (node.opType === "Constant" && single.has(node.output[0]!)) continue;
    for (const { t } of node.attribute) if (t) toHalf(t);
    const to = node.opType === "Cast" ? attribute(node, "to") : undefined;
    if (to && Number(to.i) === onnxType.float) to.i = BigInt(onnxType.float16);
  }
  graph.valueInfo = [];
  const initialised = new Set(graph.initializer.map(({ name }) => name));
  const isFloat = (type: GraphProto["input"][number]["type"]): boolean =>
    type?.value.case === "tensorType" && type.value.value.elemType === onnxType.float;
  for (const input of graph.input) {
    if (!isFloat(input.type)) continue;
    if (initialised.has(input.name)) {
      // Old files list initialisers as inputs: their type follows.
      const shape = input.type!.value.case === "tensorType" ? input.type!.value.value.shape : undefined;
      const tensor = create(TypeProto_TensorSchema, { elemType: onnxType.float16, ...(shape && { shape }) });
      input.type = create(TypeProtoSchema, { value: { case: "tensorType", value: tensor } });
      continue;
    }
    const half = freshName(graph, `${input.name}_half`);
    for (const node of graph.node) node.input = node.input.map((name) => (name === input.name ? half : name));
    graph.node.unshift(nodeOf("Cast", [input.name], [half], { to: onnxType.float16 }));
  }
  for (const output of graph.output) {
    if (!isFloat(output.type)) continue;
    const half = freshName(graph, `${output.name}_half`);
    for (const node of graph.node) {
      node.input = node.input.map((name) => (name === output.name ? half : name));
      node.output = node.output.map((name) => (name === output.name ? half : name));
    }
    graph.node.push(nodeOf("Cast", [half], [output.name], { to: onnxType.float }));
  }
  return 1;
}
