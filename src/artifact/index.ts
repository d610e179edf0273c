export { readModelHeader, type ModelHeader, type NodeFacts } from "./header.ts";
export { digestFile, readModel, type ExternalFile } from "./onnx-file.ts";
export { readGroups, readTensors, writeGroups, writeTensors, type NamedTensors } from "./tensor-file.ts";
export { changedFields, type ArtifactKeyFields } from "./key.ts";
export { readArtifact, type Artifact } from "./manifest.ts";
export { openStore, type Found, type Store } from "./store.ts";
export { realDisk, type Disk } from "./disk.ts";
export { profileOnnxModel } from "./onnx-profile.ts";
export { onnxRuntimeVersion, openOnnxSession, type OnnxSession } from "./onnx-session.ts";
