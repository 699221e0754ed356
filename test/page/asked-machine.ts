// Starts a real shim that answers questions about this machine, except for its log, which a script plays. Also answers
// questions in the page, in the place of a machine.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { mintToken } from "../../infra/local/admin.ts";
import { ANSWER_TYPE, answerLine, type AnswerLine } from "../../shared/protocol/asking.ts";
import type { QuestionsAnswer } from "../../shared/protocol/operator-answers.ts";
import { ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { thisRun } from "../e2e/run-record.ts";
import type { PageAccess } from "./page-worker.ts";

export interface AskedMachine {
  /** Sets the script that is journalctl on this machine. */
  journal: (script: string) => void;
  /** The machine's folder, for what the script writes. */
  folder: string;
  /** Ends the shim. */
  stop: () => Promise<void>;
}

/** The label of each such machine, which its join token sets. The value is the machine's name. */
export const LABEL = "example.com/asked";

/** Starts the shim with these flags of `node-shim run`. Resolves when the Worker can ask it, or refuses for another reason. */
export async function askedMachine(
  { url, adminSecret }: PageAccess,
  name: string,
  flags: readonly string[],
): Promise<AskedMachine> {
  const { path: folder, remove } = temporaryFolder();
  const wish = { names: name, uses: 1, withoutFactsOnlyTaint: false, labels: { [LABEL]: name } };
  const token = await mintToken(url, adminSecret, wish);
  thisRun().secret("join token", token);
  writeFileSync(join(folder, "token"), token, { mode: 0o600 });
  const programs = join(folder, "bin");
  mkdirSync(programs);
  const journal = (script: string) =>
    writeFileSync(join(programs, "journalctl"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const given = [
    `--url=${url}`,
    `--state=${join(folder, "state")}`,
    `--join-token-file=${join(folder, "token")}`,
    `--hostname-override=${name}`,
    "--node-status-update-frequency=1s",
  ];
  const shim = spawn(
    process.execPath,
    [join(ROOT, "node-shim/bin/node-shim.cjs"), "run", ...given, ...flags],
    { env: { ...process.env, PATH: `${programs}:${process.env["PATH"]}` } },
  );
  let log = "";
  shim.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  shim.stdout.resume();
  const ended = new Promise<void>((resolve) => shim.once("close", () => resolve()));
  const stop = async () => {
    shim.kill("SIGTERM");
    await ended;
    thisRun().log(`shim ${name}`, log);
    remove();
  };
  const headers = { authorization: `Bearer ${adminSecret}` };
  for (let tries = 0; tries < 600; tries++) {
    const response = await fetch(`${url}/v1/nodes/${name}/questions`, { headers });
    const { on = [], withinSeconds } = (await response.json()) as Partial<QuestionsAnswer>;
    // A machine reports over HTTP at first. Only with a socket it answers each question.
    const isHttp = flags.includes("--transport=http");
    if (on.length > 0 && (withinSeconds !== undefined) === isHttp) return { journal, folder, stop };
    await pause(100);
  }
  await stop();
  throw new Error(`${name} has named no questions:\n${log}`);
}

/** Answers all questions in the page. Returns what the page has sent. */
export async function answerWith(page: Page, ...lines: AnswerLine[]): Promise<unknown[]> {
  const asked: unknown[] = [];
  await page.route("**/v1/nodes/*/questions", async (route) => {
    if (route.request().method() === "GET") return route.fallback();
    asked.push(route.request().postDataJSON());
    return route.fulfill({ contentType: ANSWER_TYPE, body: lines.map(answerLine).join("") });
  });
  return asked;
}

/** Answers in the page as a machine that has these answers, by the question. */
export async function answerInPage(page: Page, answers: Readonly<Record<string, string>>): Promise<void> {
  await page.route("**/v1/nodes/*/questions", async (route) => {
    if (route.request().method() === "GET") return route.fulfill({ json: { on: Object.keys(answers) } });
    const { name } = route.request().postDataJSON() as { name: string };
    const lines: AnswerLine[] = [{ text: answers[name] ?? "" }, { end: { reason: "complete" } }];
    return route.fulfill({ contentType: ANSWER_TYPE, body: lines.map(answerLine).join("") });
  });
}
