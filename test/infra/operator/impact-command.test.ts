// Tests rollcall impact: flags, exit codes and formats, with a kubectl that the test plays.
import { expect, test } from "vitest";
import { impactCommand } from "../../../infra/operator/impact-command.ts";
import type { KubectlEnd } from "../../../infra/operator/kubectl.ts";
import { TOLERATES_ALL, workload } from "../impact/made-up-cluster.ts";
import { playAlone } from "./played.ts";

type Kubectl = (path: string) => Partial<KubectlEnd>;

const ABSENT = { fault: "exit code 1", stderr: "Error from server (NotFound): the server could not find it" };
const VERSION = { stdout: '{"gitVersion":"v1.36.3"}' };
const clean: Kubectl = (path) => (path === "/version" ? VERSION : path === "-f" ? { stdout: "{}" } : ABSENT);
const withAgent: Kubectl = (path) =>
  path.startsWith("/apis/apps/v1/daemonsets")
    ? { stdout: JSON.stringify({ items: [workload("agent", TOLERATES_ALL)] }) }
    : clean(path);
const failing =
  (stderr: string): Kubectl =>
  () => ({ fault: "exit code 1", stderr });

async function run(args: string[], kubectl: Kubectl = clean) {
  const asked: (readonly string[])[] = [];
  const played = (words: readonly string[]) => {
    asked.push(words);
    const path = words[0] === "create" ? "-f" : (words[2] ?? "");
    return Promise.resolve({ stdout: "", stderr: "", fault: null, ...kubectl(path) });
  };
  const ended = await playAlone((program) => impactCommand(program, played), ["impact", ...args]);
  return { ...ended, asked };
}

test.each<[situation: string, args: string[], kubectl: Kubectl, code: number, message: RegExp]>([
  ["nothing breaks", [], clean, 0, /^300 more Nodes [^]*Nothing was found/],
  ["something breaks", ["--machines", "1"], withAgent, 1, /^1 more Node [^]*BREAKS {2}DaemonSet shop\/agent/],
  ["the most machines", ["--machines", "100000"], clean, 0, /^100000 more Nodes/],
])("%s → its exit code", async (_, args, kubectl, code, says) => {
  const ended = await run(args, kubectl);
  expect(ended).toMatchObject({ code, stdout: expect.stringMatching(says), stderr: "" });
});

test.each<[situation: string, args: string[], kubectl: Kubectl, code: number, message: RegExp]>([
  ["no machine", ["--machines", "0"], clean, 2, /from 1 to 100000/],
  ["too many", ["--machines", "100001"], clean, 2, /from 1 to 100000/],
  ["a word", ["--machines", "abc"], clean, 2, /from 1 to 100000/],
  [
    "labels that no token may set",
    ["--node-labels", "kubernetes.io/x=y"],
    clean,
    2,
    /unknown 'kubernetes.io'/,
  ],
  ["a Worker's context", ["--context", "prod"], clean, 2, /pass --kube-context/],
  [
    "a kubeconfig that is missing",
    [],
    failing("error: stat /none: no such file or directory"),
    2,
    /kubectl: stat \/none/,
  ],
  [
    "credentials that are refused",
    [],
    failing("error: You must be logged in to the server (Unauthorized)"),
    4,
    /refuses these credentials/,
  ],
  [
    "no cluster",
    [],
    failing("The connection to the server 127.0.0.1:1 was refused"),
    5,
    /cannot be reached: .*refused/,
  ],
  [
    "a web page",
    [],
    () => ({ stdout: "<html>Sign in</html>" }),
    1,
    /no apiserver answers there: .*<html>Sign in/,
  ],
])("%s → one line and its exit code", async (_, args, kubectl, code, says) => {
  const ended = await run(args, kubectl);
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toMatch(says);
});

test("lists that are forbidden → named, and no failure", async () => {
  const forbidden = failing(
    'Error from server (Forbidden): nodes is forbidden: User "x" cannot create resource "nodes"',
  );
  const { code, stdout } = await run([], (path) => (path === "/version" ? VERSION : forbidden(path)));
  expect(code).toBe(0);
  expect(stdout).toContain("  daemonsets: forbidden\n");
});

test.each<[situation: string, args: string[], flags: string[]]>([
  ["neither flag → kubectl's default", [], []],
  [
    "kubeconfig and context → both",
    ["--kubeconfig", "k.yaml", "--kube-context", "prod"],
    ["--kubeconfig=k.yaml", "--context=prod"],
  ],
  ["a state folder → the kubeconfig in it", ["--state", "/s"], ["--kubeconfig=/s/kubeconfig"]],
  [
    "both → the kubeconfig that was given",
    ["--state", "/s", "--kubeconfig", "k.yaml"],
    ["--kubeconfig=k.yaml"],
  ],
])("%s", async (_, args, flags) => {
  const { asked } = await run(args);
  expect(asked[0]?.filter((word) => /^--(kubeconfig|context)=/.test(word))).toEqual(flags);
});

test.each<[format: string, message: RegExp]>([
  ["json", /^\{\n {2}"machines": 300,[^]*"check": "daemon-sets"/],
  ["name", /^DaemonSet shop\/agent\n$/],
  ["csv", /^severity,check,object,consequence,remedy,link\nbreaks,daemon-sets,/],
  ["jsonl", /^\{"check":"daemon-sets"/],
])("-o %s", async (format, says) => {
  expect((await run(["-o", format], withAgent)).stdout).toMatch(says);
});
