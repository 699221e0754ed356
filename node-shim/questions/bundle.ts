// Answers all questions that are on as one .tar.gz, with a manifest of what it has and lacks. Writes no file: a machine
// whose disk is full can answer.
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { pack } from "tar-stream";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { ParametersOf, Question } from "../../shared/protocol/question.ts";
import {
  type AskableName,
  answerEndText,
  OWN_PREFIX,
  QUESTION_NAMES,
  type QuestionName,
} from "../../shared/protocol/questions.ts";
import { failure } from "../../shared/result.ts";
import { UNIT_NAME } from "../service/unit.ts";
import { type OwnAsked, ownAsked, type OwnQuestion } from "../config/own-questions.ts";
import type { Asking, Source } from "./source.ts";
import { timeText } from "./table.ts";
import { failedUnits } from "./units.ts";

/** The bytes that are left for the manifest. */
const MANIFEST_BYTES = 64 * 1024;
/** The most characters of a reason in the manifest. */
const WHY_LENGTH = 512;
/** The most units, and the most paths of --question-files, whose logs a bundle has. */
const LOGS = 10;
const LOG = { lines: 2000 };
/** The number of questions that can take long. */
const SLOW = 2;
const MOST = { by: "cpu", top: 50 } as const;

const COMPLETE = "complete";

/** A file of the bundle. */
interface Part {
  file: string;
  question: Question | OwnAsked;
}

/** What the manifest has of each question. */
interface Manifest {
  at: string;
  files: { file: string; bytes: number; end: string }[];
  missing: { question: string; why: string }[];
}

/** Yields the bytes of the .tar.gz: a member of gzip for each file, so that its size is known before it is sent. */
export const bundle: Source<ParametersOf<"bundle">, Uint8Array> = async function* (_, asking) {
  const mtime = new Date(asking.wallMs());
  const manifest: Manifest = { at: timeText(mtime.getTime()), files: [], missing: [] };
  let left = QUESTION_LIMITS.bundleBytes - MANIFEST_BYTES;
  for (const part of await partsOf(asking, manifest)) {
    const { file, content, end } = await partOf(part, asking);
    const bytes = content.length === 0 ? content : await member({ file, content, mtime });
    if (bytes.length === 0)
      manifest.missing.push({ question: file, why: end === COMPLETE ? `${end}, and empty` : end });
    else if (bytes.length > left) manifest.missing.push({ question: file, why: "no room is left" });
    else {
      manifest.files.push({ file, bytes: content.length, end });
      left -= bytes.length;
      yield* chunksOf(bytes);
    }
  }
  const content = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  yield* chunksOf(await member({ file: "manifest.json", content, mtime, isLast: true }));
};

/** Returns the files of the bundle. Those that can take long are last. Names the questions that it lacks. */
async function partsOf(asking: Asking, { missing }: Manifest): Promise<Part[]> {
  const { on, files } = asking;
  const lacks = (question: AskableName, why: string) => void missing.push({ question, why });
  for (const name of QUESTION_NAMES)
    if (!on.has(name) && name !== "follow") lacks(name, "--questions does not name it");
  if (on.has("container-logs")) lacks("container-logs", "it needs the ID of a container");
  if (on.has("files") && files.length > LOGS) lacks("files", `of the paths, only the first ${LOGS} are here`);
  const units = on.has("logs") ? await unitsOf(asking) : [];
  const others = Object.entries(PARAMETERS).map(([name, parameters]): Part => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The table has each name's own parameters.
    return { file: `${name}.txt`, question: { name, parameters } as Question };
  });
  const lines: Part[] = [
    ...units.map((unit): Part => {
      return { file: `logs/${unit}.txt`, question: { name: "logs", parameters: { unit, ...LOG } } };
    }),
    { file: "logs/kernel.txt", question: { name: "logs", parameters: { kernel: "yes", ...LOG } } },
    ...files.slice(0, LOGS).map((path): Part => {
      return { file: `files${path}.txt`, question: { name: "files", parameters: { path, ...LOG } } };
    }),
  ];
  const all = [...others.slice(0, -SLOW), ...lines, ...ownParts(asking, lacks), ...others.slice(-SLOW)];
  return all.filter(({ question }) => on.has(question.name));
}

/** Returns the files of the owner's questions that a bundle may have. */
function ownParts({ own }: Asking, lacks: (question: AskableName, why: string) => void): Part[] {
  return [...own].flatMap(([name, read]): Part[] => {
    const asked = read.ok ? inBundle(read.value) : read;
    if (asked.ok) return [{ file: `own/${name.slice(OWN_PREFIX.length)}.txt`, question: asked.value }];
    lacks(name, asked.error);
    return [];
  });
}

const inBundle = (own: OwnQuestion) =>
  own.isInBundle ? ownAsked(own, {}) : failure("its file has no bundle: true");

/** Each other question with its parameters. Those that can take long are last. */
const PARAMETERS: {
  readonly [
    Name in Exclude<QuestionName, "bundle" | "container-logs" | "files" | "follow" | "logs">
  ]: ParametersOf<Name>;
} = {
  diagnosis: {},
  disks: {},
  units: {},
  processes: MOST,
  commands: MOST,
  runtime: {},
  containers: { by: "cpu", top: 200 },
  boots: {},
  questions: {},
  network: {},
  hardware: {},
  folders: { path: "/", top: 50 },
};

/** Returns the shim's unit, and units that have failed. */
async function unitsOf(asking: Asking): Promise<string[]> {
  const units = [UNIT_NAME];
  try {
    for await (const line of failedUnits(asking)) units.push(line.trim().split(" ")[0] ?? "");
  } catch {
    // The answer to `units` has the reason.
  }
  return units.filter((unit) => /^[\w@:.\\-]+$/.test(unit)).slice(0, LOGS);
}

/** Asks the question of a file, and collects the answer, which is at most QUESTION_LIMITS.answerBytes long. */
async function partOf(
  { file, question }: Part,
  { ask, signal }: Asking,
): Promise<{ file: string; content: Buffer; end: string }> {
  const chunks: Uint8Array[] = [];
  if (signal.aborted) return { file, content: Buffer.alloc(0), end: "no time is left" };
  const answer = ask(question);
  for (;;) {
    const { done, value } = await answer.next();
    if (!done) chunks.push(value);
    else {
      const text = value.reason === "gone" ? "no time is left" : (answerEndText(value) ?? COMPLETE);
      return { file, content: Buffer.concat(chunks), end: text.slice(0, WHY_LENGTH) };
    }
  }
}

const compress = promisify(gzip);

/** Returns a member of gzip with a file of a tar. Only the last file has the end of a tar behind it. */
async function member(of: { file: string; content: Buffer; mtime: Date; isLast?: true }): Promise<Buffer> {
  const { file, content, mtime, isLast } = of;
  const tar = pack();
  tar.entry({ name: `bundle/${file.replace(/^\/+/, "")}`, mode: 0o600, mtime }, content);
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar) chunks.push(chunk as Uint8Array);
  const whole = Buffer.concat(chunks);
  return compress(isLast ? whole : whole.subarray(0, whole.length - END_OF_TAR_BYTES));
}

/** The blocks of zeroes at the end of a tar. */
const END_OF_TAR_BYTES = 1024;

function* chunksOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += QUESTION_LIMITS.chunkBytes)
    yield bytes.subarray(at, at + QUESTION_LIMITS.chunkBytes);
}
