// Tests --sealed: an operator reads what the machine has sealed, and nothing that the Worker between both has changed.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { sealed, type Sealing } from "../../../node-shim/wire/sealed-answer.ts";
import { type AnswerLine, answerLine, askSchema } from "../../../shared/protocol/asking.ts";
import {
  parseQuestionProof,
  proofText,
  type QuestionProof,
} from "../../../shared/protocol/question-proof.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { knownKey } from "../../../infra/operator/sealed-answers.ts";
import { failure, success } from "../../../shared/result.ts";
import { play } from "./played.ts";

const COMPLETE: AnswerLine = { end: { reason: "complete" } };
const REFUSED: AnswerLine = {
  end: { reason: "refused", fault: "a proof is missing", challenge: "A".repeat(22) },
};
const [machine, other] = [await makeMachineKey(), await makeMachineKey()];

const folder = mkdtempSync(join(tmpdir(), "rollcall-sealed-"));
let alice = "";
let keys = 0;
let url = "";
/** The names of the questions that have come. */
let asked: string[] = [];
let answer: (proof: string | undefined, question: Question) => Promise<AnswerLine[]> | AnswerLine[];
interface Question {
  name: string;
  parameters: Record<string, string>;
}

const server = createServer((request, response) => {
  let text = "";
  request.on("data", (chunk: Buffer) => (text += chunk.toString()));
  request.on("end", () => {
    const { proof, ...question } = askSchema.parse(JSON.parse(text));
    asked.push(question.name);
    void Promise.resolve(answer(proof, question)).then((lines) =>
      response.end(lines.map(answerLine).join("")),
    );
  });
});
beforeAll(async () => {
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  asked = [];
  alice = join(folder, `alice-${++keys}`);
  await play(["operators", "key", alice]);
});

/** Returns the lines in which a Worker passes a sealed answer on: the machine's key, a part, the end; and the Worker's end. */
async function machineLines(text: string, end: AnswerEnd, sealing: Sealing): Promise<AnswerLine[]> {
  async function* answered() {
    yield Buffer.from(text);
    return end;
  }
  const chunks = sealed(answered(), sealing);
  const all: AnswerLine[] = [];
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return [...all, { end: value }];
    all.push({ base64: Buffer.from(value).toString("base64") });
  }
}

interface Played {
  /** The key with which the machine signs. */
  key?: typeof machine;
  text?: string;
  end?: AnswerEnd;
  /** What the Worker does with the machine's lines. */
  passOn?: (all: AnswerLine[]) => AnswerLine[];
}

/** Asks the machine edge-7, which pins the key, for sealed answers. */
function ask(
  args: string[],
  { key = machine, text = "an answer\n", end = { reason: "complete" }, passOn = (all) => all }: Played = {},
) {
  answer = async (proof, question) => {
    if (proof === undefined) return [REFUSED];
    const { sealTo = "", challenge } = parseQuestionProof(proof) as QuestionProof;
    const proved = proofText({ machine: "edge-7", challenge, question, sealTo });
    return passOn(await machineLines(text, end, { sealTo, proved, key }));
  };
  return play([...args, "--key", alice, "--sealed"], { url });
}

describe("a sealed answer", () => {
  it("→ its text; the machine's key is noted at the first answer, and known at the second", async () => {
    const file = `${alice}.machines`;
    expect([await ask(["ask", "edge-7", "disks"]), asked]).toEqual([
      {
        code: 0,
        stdout: "an answer\n",
        stderr: `rollcall: edge-7: ${file} now has this machine's key ${machine.thumbprint}: compare it with node-shim doctor there\n`,
      },
      ["disks", "disks"],
    ]);
    expect(readFileSync(file, "utf8")).toBe(`${url} edge-7 ${machine.thumbprint}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await ask(["logs", "edge-7", "-k"], { text: "ü\n" })).toEqual({
      code: 0,
      stdout: "ü\n",
      stderr: "",
    });
  });

  it("by another key than the noted one → refused, and none of it printed", async () => {
    await ask(["ask", "edge-7", "disks"]);
    const { code, stdout, stderr } = await ask(["ask", "edge-7", "disks"], { key: other });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`signed by the key ${other.thumbprint}, and ${alice}.machines has another one`);
  });

  it("of a machine whose name has lines of other machines → refused, and no key is noted", () => {
    const file = `${alice}.machines`;
    const name = `edge-1 x\n${url} edge-7`;
    expect(knownKey(file, { worker: url, name, thumbprint: other.thumbprint })).toEqual(
      failure("this is no name of a machine"),
    );
    expect(existsSync(file)).toBe(false);
  });

  it("of a new machine, in a file whose last line has no end → both machines are known", () => {
    const file = `${alice}.machines`;
    const known = (name: string, { thumbprint } = machine) =>
      knownKey(file, { worker: url, name, thumbprint });
    writeFileSync(file, `${url} edge-1 ${machine.thumbprint}`, { mode: 0o600 });
    expect(known("edge-2", other)).toEqual(success("new"));
    expect([known("edge-1"), known("edge-2", other)]).toEqual([success("known"), success("known")]);
  });

  it("-o json → the opened lines", async () => {
    const { stdout } = await ask(["ask", "edge-7", "disks", "-o", "json"]);
    expect(stdout).toBe(answerLine({ text: "an answer\n" }) + answerLine(COMPLETE));
  });

  it("a bundle → bytes", async () => {
    expect(await ask(["ask", "edge-7", "bundle"], { text: "\u001F\u0001" })).toMatchObject({
      code: 0,
      stdout: "\u001F\u0001",
    });
  });

  it("that fails → the sealed reason", async () => {
    const end = { reason: "failed", fault: "df is missing" } as const;
    const { code, stdout, stderr } = await ask(["ask", "edge-7", "disks"], { text: "a\n", end });
    expect([code, stdout]).toEqual([1, "a\n"]);
    expect(stderr).toMatch(/disks: df is missing\n$/);
  });

  it.each<[situation: string, passOn: (all: AnswerLine[]) => AnswerLine[], stdout: string, fault: string]>([
    ["writes itself", () => [{ text: "all is well\n" }, COMPLETE], "", "the answer is not sealed"],
    ["cuts", ([head, part]) => [head!, part!, COMPLETE], "an answer\n", "broke off before its sealed end"],
    ["leaves out", () => [COMPLETE], "", "broke off before its sealed end"],
    ["reorders", ([head, part, end]) => [head!, end!, part!], "", "was changed on its way"],
    [
      "ends with a reason of its own",
      ([head]) => [head!, { end: { reason: "stopped", fault: "too late" } }],
      "",
      "too late",
    ],
    [
      "continues after its end",
      ([head, part, end]) => [head!, part!, end!, { text: "more\n" }],
      "an answer\n",
      "now has this machine's key",
    ],
  ])("that the Worker %s → nothing but the machine's own", async (_, passOn, stdout, fault) => {
    const ended = await ask(["ask", "edge-7", "disks"], { passOn });
    expect([ended.code, ended.stdout]).toEqual([fault.startsWith("now") ? 0 : 1, stdout]);
    expect(ended.stderr).toContain(fault);
  });

  it("of a machine that pins no keys → its plain answer does not count", async () => {
    answer = () => [{ text: "plain\n" }, COMPLETE];
    const { code, stdout, stderr } = await play(["ask", "edge-7", "disks", "--key", alice, "--sealed"], {
      url,
    });
    expect([asked, code, stdout]).toEqual([["disks"], 1, ""]);
    expect(stderr).toContain("only a machine that pins keys seals its answers");
  });

  it("--sealed without --key → a fault of the command line, and nothing is asked", async () => {
    const { code, stderr } = await play(["ask", "edge-7", "disks", "--sealed"], { url });
    expect([asked, code, stderr]).toEqual([[], 2, "rollcall: --sealed needs --key\n"]);
  });
});

it("rollcall diagnose --sealed → asks what shows more, once the machine's key is known", async () => {
  const text = "→ ask logs kernel=yes\n";
  await ask(["diagnose", "edge-7"], { text });
  expect(asked).toEqual(["diagnosis", "diagnosis"]);
  asked = [];
  await ask(["diagnose", "edge-7"], { text });
  expect(asked).toEqual(["diagnosis", "diagnosis", "logs", "logs"]);
  asked = [];
  await ask(["diagnose", "edge-7"], { passOn: () => [{ text }, COMPLETE] });
  expect(asked).toEqual(["diagnosis", "diagnosis"]);
});
