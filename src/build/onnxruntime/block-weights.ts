/**
 * The routes int8-weights and int4-weights: the constant weights of MatMul and Gemm in blocks of 32
 * along the inner dimension, each block with a scale, as the runtime's own operator MatMulNBits reads
 * them. Inputs and outputs stay float.
 */
import type { GraphProto, NodeProto } from "onnx-buf";
import {
  addConstant,
  freshName,
  intAttribute,
  microsoft,
  nodeOf,
  onnxType,
  removeUnused,
  weightedNodes,
  type WeightedNode,
} from "./graph.ts";

export interface BlockOptions {
  bits: 4 | 8;
  accuracyLevel: 0 | 4;
}

const blockSize = 32;

export interface BlockedWeights {
  /** Columns × blocks × bytes of a block; the lower half of a byte comes first. */
  packed: Uint8Array;
  /** Columns × blocks. */
  scales: Float32Array;
  blocks: number;
}

/**
 * Symmetric blocks around the type's middle: the value farthest from 0 becomes the lowest step, so that no step is lost.
 * @param at value of a column at a row of the inner dimension
 */
export function blockWeights(columns: number, rows: number, bits: 4 | 8, at: (column: number, row: number) => number): BlockedWeights {
  const blocks = Math.ceil(rows / blockSize);
  const middle = 2 ** (bits - 1);
  const bytes = (blockSize * bits) / 8;
  const packed = new Uint8Array(columns * blocks * bytes).fill(bits === 8 ? middle : middle | (middle << 4));
  const scales = new Float32Array(columns * blocks);
  for (let column = 0; column < columns; column++) {
    for (let block = 0; block < blocks; block++) {
      const from = block * blockSize;
      const to = Math.min(rows, from + blockSize);
      let farthest = 0;
      for (let row = from; row < to; row++) if (Math.abs(at(column, row)) > Math.abs(farthest)) farthest = at(column, row);
      const scale = farthest === 0 ? 1 : Math.fround(farthest / -middle);
      scales[column * blocks + block] = scale;
      for (let row = from; row < to; row++) {
        const step = Math.max(0, Math.min(2 * middle - 1, Math.round(at(column, row) / scale) + middle));
        const place = (column * blocks + block) * bytes;
        const inside = row - from;
        if (bits === 8) packed[place + inside] = step;
        else {
          const shift = (inside % 2) * 4;
          packed[place + (inside >> 1)] = (packed[place + (inside >> 1)]! & ~(0xf << shift)) | (step << shift);
        }
      }
    }
  }
  return { packed, scales, blocks };
}

function blockNode({ node, values, dims, weight }: WeightedNode, graph: GraphProto, { bits, accuracyLevel }: BlockOptions): NodeProto[] {
  const [x, , bias] = node.input as [string, string, string | undefined];
  const y = node.output[0]!;
  const flipped = node.opType === "Gemm" && intAttribute(node, "transB", 0) === 1;
  const [columns, rows] = (flipped ? dims : [dims[1], dims[0]]) as [number, number];
  const { packed, scales, blocks } = blockWeights(columns, rows, bits, (column, row) =>
    flipped ? values[column * rows + row]! : values[row * columns + column]!,
  );
  const w = addConstant(graph, `${weight.name}_blocks`, onnxType.uint8, [columns, blocks, (blockSize * bits) / 8], packed);
  const s = addConstant(graph, `${weight.name}_block_scales`, onnxType.float, [columns * blocks], scales);
  const hasBias = bias !== undefined && bias !== "";
  const product = hasBias ? freshName(graph, `${y}_product`) : y;
  const sizes = { K: rows, N: columns, bits, block_size: blockSize, accuracy_level: accuracyLevel };
  const blocked = nodeOf("MatMulNBits", [x, w, s], [product], sizes, microsoft);
  return hasBias ? [blocked, nodeOf("Add", [product, bias], [y])] : [blocked];
}

/** Rewrites the graph in place; returns how many operators changed. */
export function quantiseBlockwise(graph: GraphProto, options: BlockOptions): number {
  const targets = new Map(
    weightedNodes(graph)
      .filter(({ op }) => op !== "Conv")
      .map((target) => [target.node, target]),
  );
  graph.node = graph.node.flatMap((node) => {
    const target = targets.get(node);
    return target ? blockNode(target, graph, options) : [node];
  });
  removeUnused(graph);
  return targets.size;
}
