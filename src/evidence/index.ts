export { checkFiles, openJournal, readJournal, type Entry, type FileRecord, type Journal } from "./journal.ts";
