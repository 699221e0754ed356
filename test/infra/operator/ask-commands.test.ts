// Tests rollcall ask, diagnose and logs: what they send, what they print while an answer comes, and their exit codes.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { answerLine, type AnswerLine, askSchema } from "../../../shared/protocol/asking.ts";
import { play, type Played } from "./played.ts";
import { QuestionProofs } from "../../../node-shim/questions/proofs.ts";
import { parseOperatorKeys } from "../../../shared/protocol/question-proof.ts";

const COMPLETE: AnswerLine = { end: { reason: "complete" } };

let server: Server | undefined;
afterEach(() => void server?.close());

/** Starts a Worker that answers with `answer`. Returns what it was asked, and the outcome of a command. */
async function ask(
  args: string[],
  answer: (response: ServerResponse, body: unknown) => void,
  played: Played = {},
) {
  const asked: { method?: string | undefined; url?: string | undefined; body: unknown }[] = [];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text) as unknown;
      asked.push({ method: request.method, url: request.url, body });
      answer(response, body);
    });
  });
  await new Promise<void>((ready) => void server?.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const ended = await play(args, { url: `http://127.0.0.1:${port}`, ...played });
  return { asked, ended };
}

const lines =
  (...all: AnswerLine[]) =>
  (response: ServerResponse) =>
    void response.end(all.map(answerLine).join(""));
const refusal = (status: number, problem: object) => (response: ServerResponse) =>
  void response.writeHead(status).end(JSON.stringify(problem));

describe("the question", () => {
  it.each<[args: string[], body: object]>([
    [["ask", "edge-7", "disks"], { name: "disks", parameters: {} }],
    [["ask", "edge-7"], { name: "questions", parameters: {} }],
    [["ask", "edge-7", "own:smart", "disk=sda"], { name: "own:smart", parameters: { disk: "sda" } }],
    [
      ["ask", "edge-7", "logs", "unit=nginx", "grep=a=b"],
      { name: "logs", parameters: { unit: "nginx", grep: "a=b" } },
    ],
    [
      ["logs", "edge-7", "-u", "nginx", "--since", "10m", "--lines", "5", "--grep", "error"],
      { name: "logs", parameters: { unit: "nginx", since: "10m", lines: "5", grep: "error" } },
    ],
    [["logs", "edge-7", "-k", "-f"], { name: "follow", parameters: { kernel: "yes" } }],
    [["diagnose", "edge-7"], { name: "diagnosis", parameters: {} }],
    [["top", "containers", "edge-7"], { name: "containers", parameters: { by: "cpu" } }],
    [
      ["top", "containers", "edge-7", "--sort", "memory"],
      { name: "containers", parameters: { by: "memory" } },
    ],
    [["logs", "edge-7", "-k"], { name: "logs", parameters: { kernel: "yes" } }],
  ])("rollcall %j", async (args, body) => {
    const { asked, ended } = await ask(args, lines(COMPLETE));
    expect([asked, ended]).toEqual([
      [{ method: "POST", url: "/v1/nodes/edge-7/questions", body }],
      { code: 0, stdout: "", stderr: "" },
    ]);
  });

  it.each<[args: string[], fault: string]>([
    [["top", "containers"], "error: top needs the name of a machine, or -l\n"],
    [["top", "containers", "edge-7", "--sort", "disk"], "error: containers are sorted by cpu or by memory\n"],
    [["top", "nodes", "edge-7"], "error: top nodes takes no name: use -l\n"],
  ])("rollcall %j is a fault of the command line, and nothing is asked", async (args, fault) => {
    const { asked, ended } = await ask(args, lines(COMPLETE));
    expect([asked, ended.code, ended.stderr]).toEqual([[], 2, fault]);
  });

  it("a parameter without = is a fault of the command line, and nothing is asked", async () => {
    const { asked, ended } = await ask(["ask", "edge-7", "logs", "nginx"], lines(COMPLETE));
    expect([asked, ended.code, ended.stderr]).toEqual([[], 2, 'error: "nginx" is not NAME=VALUE\n']);
  });
});

describe("the answer", () => {
  it.each<[situation: string, answer: AnswerLine[], code: number, stdout: string, stderr: string]>([
    ["complete", [{ text: "a\n" }, { text: "b\n" }, COMPLETE], 0, "a\nb\n", ""],
    ["without a line", [COMPLETE], 0, "", ""],
    [
      "cut at its size",
      [{ text: "a\n" }, { end: { reason: "cut" } }],
      0,
      "a\n",
      "rollcall: edge-7: disks: the answer is cut: it has at most 1048576 bytes, of at most 268435456 that are read\n",
    ],
    [
      "failed on the machine",
      [{ text: "a\n" }, { end: { reason: "failed", fault: "df is\nmissing" } }],
      1,
      "a\n",
      "rollcall: edge-7: disks: df is missing\n",
    ],
    [
      "refused by the machine",
      [{ end: { reason: "refused", fault: "ask again later" } }],
      1,
      "",
      "rollcall: edge-7: disks: ask again later\n",
    ],
    [
      "ended on its way",
      [{ text: "a\n" }, { end: { reason: "stopped", fault: "the machine's socket has closed" } }],
      1,
      "a\n",
      "rollcall: edge-7: disks: the machine's socket has closed\n",
    ],
    ["broken off", [{ text: "a\n" }], 1, "a\n", "rollcall: edge-7: disks: the answer broke off\n"],
    [
      "with commands to the terminal",
      [{ text: "\u001B]0;owned\u0007\n" }, COMPLETE],
      0,
      "\\u001b]0;owned\\u0007\n",
      "",
    ],
    ["bytes to a file", [{ base64: "H4sI" }, COMPLETE], 0, "\u001F\u008B\b", ""],
  ])("%s", async (_, answer, code, stdout, stderr) => {
    const { ended } = await ask(["ask", "edge-7", "disks"], lines(...answer));
    expect(ended).toEqual({ code, stdout, stderr });
  });

  it("bytes to a terminal are refused", async () => {
    const { ended } = await ask(["ask", "edge-7", "disks"], lines({ base64: "H4sI" }, COMPLETE), {
      columns: 80,
    });
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([
      1,
      "",
      "rollcall: edge-7: disks: the answer is no text: redirect it to a file\n",
    ]);
  });

  it("empty lines and a line in two pieces change nothing", async () => {
    const { ended } = await ask(["ask", "edge-7", "disks"], (response) => {
      response.write('\n\n{"text":"one ');
      response.write('line\\n"}\n\n');
      response.end(answerLine(COMPLETE));
    });
    expect(ended).toEqual({ code: 0, stdout: "one line\n", stderr: "" });
  });

  it("-o json has the lines as they came", async () => {
    const { ended } = await ask(["ask", "edge-7", "disks", "-o", "json"], lines({ text: "a\n" }, COMPLETE));
    expect(ended.stdout).toBe('{"text":"a\\n"}\n{"end":{"reason":"complete"}}\n');
  });

  it("a line that an earlier command line does not know", async () => {
    const { ended } = await ask(["ask", "edge-7", "disks"], (response) =>
      response.end(`{"odd":1}\n${answerLine(COMPLETE)}`),
    );
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining("install the Worker's version")]);
  });
});

describe("a refusal", () => {
  it.each<[situation: string, status: number, problem: object, code: number, stderr: string]>([
    [
      "of a silent machine",
      409,
      { title: "This machine is silent", detail: "Find out.", reason: "machine-silent" },
      1,
      "rollcall: This machine is silent. Find out.\n",
    ],
    [
      "of an unknown machine",
      404,
      { title: "There is nothing here", reason: "not-found" },
      3,
      "rollcall: no machine edge-7\n",
    ],
    [
      "of the role",
      403,
      { title: "This needs more", detail: "bob may look.", reason: "forbidden" },
      4,
      "rollcall: This needs more. bob may look.\n",
    ],
    [
      "of a parameter",
      400,
      { title: "Wrong", detail: "not a whole number", reason: "invalid-body", pointer: "/parameters/top" },
      2,
      "rollcall: Wrong. not a whole number (at /parameters/top)\n",
    ],
  ])("%s", async (_, status, problem, code, stderr) => {
    const { ended } = await ask(["ask", "edge-7", "disks"], refusal(status, problem));
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([code, "", stderr]);
  });

  it("another server's answer, and none", async () => {
    const { ended } = await ask(["ask", "edge-7", "disks"], (response) =>
      response.writeHead(502).end("<html>"),
    );
    expect([ended.code, ended.stderr]).toEqual([5, expect.stringContaining("is it a rollcall Worker?")]);
    const cut = await ask(["ask", "edge-7", "disks"], (response) => response.destroy());
    expect([cut.ended.code, cut.ended.stderr]).toEqual([5, expect.stringContaining("cannot be reached")]);
  });
});

describe("a machine that pins keys", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-ask-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const made = (name: string) => play(["operators", "key", join(folder, name)]);
  /** Asks the machine edge-7, which pins the key, by way of a Worker. */
  async function askPinned(args: string[], pinned: string, text = "an answer\n") {
    const proofs = new QuestionProofs({
      machine: "edge-7",
      keys: () => parseOperatorKeys(pinned),
      nowMs: () => 0,
    });
    return ask(args, (response, body) => {
      const { proof, ...question } = askSchema.parse(body);
      void proofs.prove({ question, ...(proof !== undefined && { proof }) }).then((proved) => {
        const refused = { reason: "refused", ...(!proved.ok && proved.error) } as AnswerEnd;
        lines(...(proved.ok ? [{ text }, COMPLETE] : [{ end: refused }]))(response);
      });
    });
  }

  it.each([[[]], [["-o", "json"]]])(
    "with the key → asks again with a proof, and prints one answer: %j",
    async (more) => {
      const { stdout: pinned } = await made("alice");
      const args = ["logs", "edge-7", "-u", "nginx", "--key", join(folder, "alice"), ...more];
      const { asked, ended } = await askPinned(args, pinned);
      const printed =
        more.length === 0 ? "an answer\n" : answerLine({ text: "an answer\n" }) + answerLine(COMPLETE);
      expect([asked.length, ended]).toEqual([2, { code: 0, stdout: printed, stderr: "" }]);
    },
  );

  it("a Worker that writes questions into a diagnosis → gets none of them signed", async () => {
    const { stdout: pinned } = await made("alice");
    const args = ["diagnose", "edge-7", "--key", join(folder, "alice")];
    const { asked, ended } = await askPinned(args, pinned, "→ ask logs kernel=yes\n");
    expect(asked.map(({ body }) => askSchema.parse(body).name)).toEqual(["diagnosis", "diagnosis"]);
    expect([ended.code, ended.stdout]).toEqual([0, "→ ask logs kernel=yes\n"]);
  });

  it.each<[string, string[], number, string]>([
    ["without a key → asks once", [], 1, "only an operator whose key its owner has pinned: pass it by --key"],
    ["with another key → asks twice", ["--key", join(folder, "mallory")], 2, "has not pinned this key"],
    ["with a key that is missing → asks nothing", ["--key", join(folder, "missing")], 0, "is missing"],
  ])("%s, and exits with the reason", async (_, more, times, fault) => {
    await made("mallory");
    const { asked, ended } = await askPinned(
      ["ask", "edge-7", "disks", ...more],
      (await made("alice")).stdout,
    );
    expect([asked.length, ended.code, ended.stdout]).toEqual([times, 1, ""]);
    expect(ended.stderr).toContain(fault);
  });
});

describe("rollcall diagnose", () => {
  /** Answers the first question with the diagnosis, and the others with their number. */
  const answering = (
    diagnosis: string,
    others: (n: number) => AnswerLine[] = (n) => [{ text: `${n}\n` }, COMPLETE],
  ) => {
    let n = 0;
    return (response: ServerResponse) =>
      lines(...(n++ === 0 ? [{ text: diagnosis }, COMPLETE] : others(n - 1)))(response);
  };
  const FAULTS = `fail  unit  web.service has failed (exit-code)
            → ask logs unit=web.service lines=20
fail  disk  / is full
            → ask folders
warn  clock  90 s ahead of the Worker's
            → set it and keep it set: timedatectl set-ntp true
warn  disk  /a is nearly full
            → ask folders
`;

  it("a machine with faults → the diagnosis, then what shows more of each, once", async () => {
    const { asked, ended } = await ask(["diagnose", "edge-7"], answering(FAULTS));
    expect(asked.map(({ body }) => body)).toEqual([
      { name: "diagnosis", parameters: {} },
      { name: "logs", parameters: { unit: "web.service", lines: "20" } },
      { name: "folders", parameters: {} },
    ]);
    expect(ended).toEqual({
      code: 0,
      stdout: `${FAULTS}\nlogs unit=web.service lines=20:\n1\n\nfolders:\n2\n`,
      stderr: "",
    });
  });

  it.each<[situation: string, diagnosis: string, names: string[]]>([
    ["a sound machine", "no fault found: disks\n", []],
    [
      "four questions → three",
      ["disks", "units", "boots", "network"].map((name) => `→ ask ${name}\n`).join(""),
      ["disks", "units", "boots"],
    ],
    ["a question that this program does not know", "→ ask shell command=ls\n", []],
    ["an invalid parameter", "→ ask logs unit=--all\n", []],
    ["a question that no diagnosis names", "→ ask bundle\n→ ask files path=/srv/key\n", []],
    ["a line that is costly to match", `→ ask logs ${"a=b=c=d=e=f=g=h ".repeat(20)}x\n`, []],
    ["a question in the middle of a line", "fail  disk  /→ ask units is full\n", []],
  ])("%s", async (_, diagnosis, names) => {
    const { asked } = await ask(["diagnose", "edge-7"], answering(diagnosis));
    expect(asked.map(({ body }) => (body as { name: string }).name)).toEqual(["diagnosis", ...names]);
  });

  it("the owner has turned off what shows more → said, and the diagnosis is no failure", async () => {
    const off: AnswerLine = { end: { reason: "refused", fault: "logs is off" } };
    const { ended } = await ask(
      ["diagnose", "edge-7"],
      answering("→ ask logs unit=a.service\n", () => [off]),
    );
    expect([ended.code, ended.stderr]).toEqual([0, "rollcall: edge-7: logs: logs is off\n"]);
  });

  it("diagnosis is off → a failure", async () => {
    const off: AnswerLine = { end: { reason: "refused", fault: "diagnosis is off" } };
    const { ended } = await ask(["diagnose", "edge-7"], lines(off));
    expect([ended.code, ended.stderr]).toEqual([1, "rollcall: edge-7: diagnosis: diagnosis is off\n"]);
  });
});

describe("many machines, by -l", () => {
  const SOME = ["edge-1", "edge-2", "edge-3"];
  /** Starts a Worker with these machines. `answer` answers a question to a machine; `tries` counts them. */
  async function many(
    args: string[],
    answer: (name: string, tries: number) => AnswerLine[] | [status: number, problem: object],
    { names = SOME, states = {}, ...played }: Played & { names?: string[]; states?: object } = {},
  ) {
    const tries: Record<string, number> = {};
    let atOnce = 0;
    let mostAtOnce = 0;
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://worker.test");
      const [, , , name = ""] = pathname.split("/");
      if (pathname === "/v1/machines") {
        const limit = Number(searchParams.get("limit"));
        const machines = names.map((each) => ({ name: each, state: "ready", ...states })).slice(0, limit);
        const matching = searchParams.get("selector") === "site=berlin" ? machines : [];
        response.end(
          JSON.stringify({ machines: matching, cursor: null, counts: { matching: {}, fleet: {} } }),
        );
        return;
      }
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      request.resume().on("end", () => {
        tries[name] = (tries[name] ?? 0) + 1;
        const [first, second] = answer(name, tries[name]);
        atOnce--;
        if (typeof first === "number") response.writeHead(first).end(JSON.stringify(second));
        else
          response.end(
            answer(name, tries[name])
              .map((line) => answerLine(line as AnswerLine))
              .join(""),
          );
      });
    });
    await new Promise<void>((ready) => void server?.listen(0, "127.0.0.1", ready));
    const { port } = server.address() as AddressInfo;
    const ended = await play(args, { url: `http://127.0.0.1:${port}`, ...played });
    return { ended, tries, mostAtOnce };
  }
  const ARGS = ["ask", "-l", "site=berlin", "disks"];
  const answered = (name: string): AnswerLine[] => [{ text: `\n${name} is full\nmore\n` }, COMPLETE];

  it("all answer → a table in the order of names, and exit code 0", async () => {
    const { ended } = await many(ARGS, answered, { names: SOME.toReversed() });
    expect(ended).toEqual({
      code: 0,
      stdout: `NAME     RESULT     FIRST LINE
edge-1   answered   edge-1 is full
edge-2   answered   edge-2 is full
edge-3   answered   edge-3 is full
`,
      stderr: "",
    });
  });

  it("one is refused, one fails, or one is cut → each reason, and exit code 1 unless it is only cut", async () => {
    const { ended } = await many(ARGS, (name) =>
      name === "edge-1"
        ? [409, { title: "Off", detail: "Turn it on.", reason: "question-off" }]
        : [
            { text: "a\n" },
            { end: name === "edge-2" ? { reason: "failed", fault: "df is missing" } : { reason: "cut" } },
          ],
    );
    expect([ended.code, ended.stdout.split("\n")]).toEqual([
      1,
      [
        "NAME     RESULT     FIRST LINE",
        "edge-1   failed     Off. Turn it on.",
        "edge-2   failed     df is missing",
        "edge-3   answered   a",
        "",
      ],
    ]);
  });

  it("a silent machine is not asked", async () => {
    const { ended, tries } = await many(ARGS, answered, { names: ["edge-1"], states: { state: "silent" } });
    expect([ended.code, ended.stdout, tries]).toEqual([1, expect.stringContaining("edge-1   silent"), {}]);
  });

  it("-o json has the whole answers", async () => {
    const { ended } = await many([...ARGS, "-o", "json"], answered, { names: ["edge-1"] });
    expect(JSON.parse(ended.stdout)).toEqual([
      { name: "edge-1", result: "answered", text: "\nedge-1 is full\nmore\n" },
    ]);
  });

  it.each([
    [["diagnose", "-l", "site=berlin"]],
    [["logs", "-l", "site=berlin", "-u", "nginx", "--lines", "5"]],
  ])("rollcall %j", async (args) => {
    const { ended, tries } = await many(args, answered);
    expect([ended.code, tries]).toEqual([0, { "edge-1": 1, "edge-2": 1, "edge-3": 1 }]);
  });

  it("asks at most eight at once, and all of them", async () => {
    const names = Array.from({ length: 30 }, (_, n) => `edge-${n}`);
    const { mostAtOnce, tries } = await many(ARGS, answered, { names });
    expect([mostAtOnce <= 8, Object.keys(tries).length]).toEqual([true, 30]);
  });

  it("over the rate → waits as long as the Worker says, and asks again", async () => {
    const { ended, tries } = await many(ARGS, (name, n) =>
      n === 1 ? [429, { title: "Later", reason: "rate-limited", retryAfterSeconds: 12 }] : answered(name),
    );
    expect([ended.code, tries]).toEqual([0, { "edge-1": 2, "edge-2": 2, "edge-3": 2 }]);
  });

  it("over the rate for ever → ends with the reason", async () => {
    const later = { title: "Later", detail: "Wait.", reason: "rate-limited", retryAfterSeconds: 12 };
    const { ended, tries } = await many(ARGS, () => [429, later], { names: ["edge-1"] });
    expect([ended.code, ended.stdout, tries]).toEqual([
      1,
      expect.stringContaining("edge-1   failed   Later. Wait."),
      { "edge-1": 11 },
    ]);
  });

  it.each<[string, string[], number, string]>([
    ["none matches", ["ask", "-l", "site=x", "disks"], 3, "rollcall: no machine matches site=x\n"],
    [
      "more than --limit match",
      [...ARGS, "--limit", "2"],
      2,
      "rollcall: more than 2 machines match site=berlin: narrow it, or raise --limit, which is at most 1000\n",
    ],
    ["a limit above the most", [...ARGS, "--limit", "1001"], 2, "must be at most 1000"],
    ["a name and -l", ["logs", "edge-1", "-l", "site=berlin"], 2, "logs needs the name of a machine, or -l"],
    ["-f and -l", ["logs", "-l", "site=berlin", "-u", "nginx", "-f"], 2, "cannot be used with"],
    ["neither", ["diagnose"], 2, "diagnose needs the name of a machine, or -l"],
    ["no question", ["ask", "-l", "site=berlin"], 2, "needs a machine, or -l and a question"],
  ])("%s → none is asked", async (_, args, code, stderr) => {
    const { ended, tries } = await many(args, answered);
    expect([ended.code, tries]).toEqual([code, {}]);
    expect(ended.stderr).toContain(stderr);
  });
});
