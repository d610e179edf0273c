import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkFiles, openJournal, readJournal } from "./index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "assay-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const two = (): void => {
  const journal = openJournal(folder);
  writeFileSync(join(folder, "a.bin"), "abc");
  journal.append("first", { n: 1 });
  journal.append("second", { n: 2 }, ["a.bin"]);
  journal.close();
};
const path = (): string => join(folder, "journal.jsonl");

describe("the journal", () => {
  it("gives back what was appended, with the published digest of its file", () => {
    two();
    const { entries } = readJournal(folder);
    expect(entries.map((entry) => entry.kind)).toEqual(["first", "second"]);
    expect(entries[1]!.files[0]!.sha256).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    checkFiles(folder, entries);
  });
  it("continues after a line torn by a kill, without it", () => {
    two();
    appendFileSync(path(), '{"seq":2,"prev":"torn');
    const journal = openJournal(folder);
    journal.append("third", null);
    journal.close();
    expect(readJournal(folder).entries.map((entry) => entry.kind)).toEqual(["first", "second", "third"]);
  });
  it("names the line that was changed", () => {
    two();
    writeFileSync(path(), readFileSync(path(), "utf8").replace('"n":1', '"n":7'));
    expect(() => readJournal(folder)).toThrow(/line 1: its content/);
  });
  it("notices a line that was taken out", () => {
    two();
    writeFileSync(path(), readFileSync(path(), "utf8").split("\n").slice(1).join("\n"));
    expect(() => readJournal(folder)).toThrow(/line 1: entry 1 stands where 0/);
  });
  it("names the file that was changed", () => {
    two();
    writeFileSync(join(folder, "a.bin"), "abd");
    expect(() => checkFiles(folder, readJournal(folder).entries)).toThrow(/a\.bin was changed/);
  });
  it("lets one process write at a time and takes over from a dead one", () => {
    two();
    writeFileSync(join(folder, "writer.lock"), String(process.ppid));
    expect(() => openJournal(folder)).toThrow(/is writing/);
    writeFileSync(join(folder, "writer.lock"), String(2 ** 22 + 1));
    openJournal(folder).close();
  });
  it("says so where there is no run", () => {
    expect(() => readJournal(folder)).toThrow(/no run folder/);
  });
});
